"""Write the schema files: `python -m verdict.wire.generate` after a class has changed.

Files and ids are append-only. A changed class gets a new version under a new id, and the old file
stays, because its bytes lie in Kafka for ever.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from verdict.model.command_envelope import CommandEnvelope
from verdict.model.recorded_event import RecordedEvent
from verdict.model.registry import aggregate_types, class_prefix, event_types, home, module
from verdict.wire.avro_schema import RecordSchema, Schema
from verdict.wire.bounds import check_bounded
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.decision import Decision
from verdict.wire.marker import Marker
from verdict.wire.response import Rejection, Response
from verdict.wire.schema_files import folder, versions_in

SHARED = {
    "response": Response,
    "rejection": Rejection,
    "dead_letter": DeadLetter,
    "marker": Marker,
    "decision": Decision,
}


def wanted(root: str) -> Iterator[tuple[str, Schema]]:
    """Yield (subject, schema) of all that the package with prefix `root` puts on a topic."""
    if not root:
        for subject, record in SHARED.items():
            yield subject, RecordSchema("verdict", {}).record(record)
    for aggregate_type in aggregate_types():
        if home(aggregate_type) == root:
            yield from _of_aggregate(aggregate_type, root)


def _of_aggregate(aggregate_type: str, root: str) -> Iterator[tuple[str, Schema]]:
    namespace = f"{root or 'verdict.'}{aggregate_type}"
    commands = getattr(module("commands", aggregate_type), f"{class_prefix(aggregate_type)}Command")
    asked = {"payload": get_args(commands) or (commands,)}
    yield f"{aggregate_type}_command", RecordSchema(namespace, asked).record(CommandEnvelope)
    happened = {"payload": tuple(event_types(aggregate_type).values())}
    yield f"{aggregate_type}_event", RecordSchema(namespace, happened).record(RecordedEvent)


def missing(root: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield what differs from the newest committed schema of its subject."""
    committed = {version.subject: version.schema for version in versions_in(folder(root))}
    return (
        (subject, schema) for subject, schema in wanted(root) if committed.get(subject) != schema
    )


def append(place: Path, subject: str, schema: Schema) -> str:
    """Add the next version of `subject` to the files in `place`; return the file's name.

    Raises:
        UnboundedSchema: A few hostile bytes of it could end the process that reads them.
    """
    check_bounded(subject, schema)
    index = place / "ids.json"
    entries: list[dict[str, Any]] = json.loads(index.read_text()) if index.is_file() else []
    version = 1 + max((e["version"] for e in entries if e["subject"] == subject), default=0)
    next_id = 1 + max((e["id"] for e in entries), default=0)
    name = f"{subject}.v{version}.avsc"
    text = json.dumps(schema, indent=2) + "\n"
    (place / name).write_text(text)
    digest = sha256(text.encode()).hexdigest()
    entry = {"id": next_id, "subject": subject, "version": version, "file": name, "sha256": digest}
    entries.append(entry)
    index.write_text(json.dumps(entries, indent=2) + "\n")
    return name


def main() -> None:
    """Write a new version of every schema that differs from its class."""
    place = Path(str(folder()))
    place.mkdir(exist_ok=True)
    for subject, schema in list(missing()):
        name = append(place, subject, schema)
        print(f"wrote {place / name}")


if __name__ == "__main__":
    main()
