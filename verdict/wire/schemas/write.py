"""Write the schema files: an application's by `verdict schemas write`, ours by this module.

Files and ids are append-only: a changed class gets a new version under a new id, because records of
the old one stay in Kafka.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import JsonObject
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.response import Rejection, Response
from verdict.wire.schemas.derive import RecordSchema, Schema
from verdict.wire.schemas.files import (
    FIRST_FREE_ID,
    SchemaFiles,
    SchemaVersion,
    of_the_aggregates,
    of_the_engine,
    require_bounded,
    versions_in,
)
from verdict.wire.skip_record import SkipRecord

SHARED = {
    "response": Response,
    "rejection": Rejection,
    "dead_letter": DeadLetter,
    "progress_record": ProgressRecord,
    "skip_record": SkipRecord,
}
EVENT = "_event"
Types = Mapping[str, Any]  # full name -> record or enumeration, as the package `avro` has it
IDS = 2**31 - FIRST_FREE_ID  # every registry takes positive integers of 32 bits


def wanted_of_the_engine() -> Iterator[tuple[str, Schema]]:
    """Yield (subject, schema) of the records of the engine."""
    for subject, record in SHARED.items():
        yield subject, RecordSchema("verdict", {}).record(record)


def wanted_of_the_aggregates(application: Application) -> Iterator[tuple[str, Schema]]:
    """Yield (subject, schema) of the commands and events of an application."""
    for name in application.aggregate_types:
        aggregate, namespace = application.aggregate(name), f"{application.namespace}.{name}"
        commands = {"payload": tuple(aggregate.command_types.values())}
        yield f"{name}_command", RecordSchema(namespace, commands).record(CommandEnvelope)
        events = {"payload": tuple(aggregate.event_types.values())}
        yield f"{name}{EVENT}", RecordSchema(namespace, events).record(RecordedEvent)


def missing(application: Application) -> list[tuple[str, Schema]]:
    """Return the schemas that differ from the newest ones in the files."""
    own = versions_in(of_the_aggregates(application))
    return [
        *_changed(wanted_of_the_engine(), versions_in(of_the_engine())),
        *_changed(wanted_of_the_aggregates(application), own),
    ]


class IncompatibleSchemaError(VerdictError):
    """A schema cannot read records that an older version of its subject wrote."""


class UnknownSubjectError(VerdictError):
    """The application has no schema of this name."""

    exit_code = 2

    def __init__(self, subject: str, known: Iterable[str]) -> None:
        super().__init__(f"no schema is called {subject!r}: there are {', '.join(known)}")


def _require_readable(subject: str, schema: Schema, older: Iterable[SchemaVersion]) -> None:
    for one in older:
        if lost := lost_in(one.schema, schema):
            raise IncompatibleSchemaError(
                f"{subject} cannot read records that v{one.version} of it wrote: "
                f"{'; '.join(lost)}{_unless_unpublished(subject, one.version)}"
            )


def _require_kept_fields(subject: str, schema: Schema, last: SchemaVersion) -> None:
    """Raise if an event schema loses a field; a command is over once it is decided."""
    if subject.endswith(EVENT) and (gone := gone_from(last.schema, schema)):
        raise IncompatibleSchemaError(
            f"{subject} loses what v{last.version} of it wrote: {', '.join(gone)} would be gone, "
            "or be another field; keep the field, with a default if new events have none, or add "
            f"an event of another name{_unless_unpublished(subject, last.version)}"
        )


def _unless_unpublished(subject: str, version: int) -> str:
    return (
        f". If no record was ever published with v{version}, replace it: `verdict schemas write "
        f"--unpublished {subject}`"
    )


def require_written_schemas(application: Application) -> None:
    """Raise unless the files have the schema of each class: new fields would get lost."""
    schemas = SchemaFiles(application)
    for subject in sorted({one.subject for one in schemas.by_id.values()}):
        *older, newest = sorted(schemas.versions_of(subject).values(), key=lambda one: one.version)
        _require_readable(subject, newest.schema, older)
    if changed := sorted(subject for subject, _ in missing(application)):
        raise VerdictError(
            f"{', '.join(changed)} changed since the schema files were written: run `verdict "
            "schemas write`"
        )


def append(place: Path, subject: str, schema: Schema, next_id: int | None = None) -> str:
    """Add the next version of `subject` to the files in `place`; return the file's name."""
    require_bounded(subject, schema)
    index = place / "ids.json"
    entries: list[JsonObject] = json.loads(index.read_text()) if index.is_file() else []
    version = 1 + max((e["version"] for e in entries if e["subject"] == subject), default=0)
    name = f"{subject}.v{version}.avsc"
    text = json.dumps(schema, indent=2) + "\n"
    (place / name).write_text(text)
    digest = sha256(text.encode()).hexdigest()
    number = _free({e["id"] for e in entries}, digest) if next_id is None else next_id
    entries.append(
        {"id": number, "subject": subject, "version": version, "file": name, "sha256": digest}
    )
    index.write_text(json.dumps(entries, indent=2) + "\n")
    return name


def write_those_of_the_aggregates(
    application: Application, unpublished: Collection[str] = ()
) -> Iterator[Path]:
    """Write a new version of each schema of the application that differs; yield the files.

    Nothing is written after an `UnknownSubjectError`, `SchemaIdClashError` or
    `IncompatibleSchemaError`.
    """
    wanted = dict(wanted_of_the_aggregates(application))
    if unknown := sorted({*unpublished} - wanted.keys()):
        raise UnknownSubjectError(unknown[0], sorted(wanted))
    place = Path(str(of_the_aggregates(application)))
    place.mkdir(exist_ok=True)
    every = sorted(SchemaFiles(application).by_id.values(), key=lambda one: one.version)
    last = {one.subject: one for one in every}
    replaced = [last[one] for one in unpublished if one in last and last[one].schema != wanted[one]]
    kept = [one for one in every if one not in replaced]
    new = _changed(wanted.items(), kept)
    for subject, schema in new:
        older = [one for one in kept if one.subject == subject]
        _require_readable(subject, schema, older)
        if older:
            _require_kept_fields(subject, schema, older[-1])
    for one in replaced:
        _remove(place, one)
    for subject, schema in new:
        yield place / append(place, subject, schema)


def _remove(place: Path, version: SchemaVersion) -> None:
    """Remove a version that wrote no record."""
    index = place / "ids.json"
    entries: list[JsonObject] = json.loads(index.read_text())
    [gone] = (entry for entry in entries if entry["id"] == version.id)
    entries.remove(gone)
    index.write_text(json.dumps(entries, indent=2) + "\n")
    (place / gone["file"]).unlink()


def main() -> None:
    """Write a new version of each schema of the engine that differs from its class."""
    place = Path(str(of_the_engine()))
    for subject, schema in _changed(wanted_of_the_engine(), versions_in(of_the_engine())):
        next_id = 1 + max((one.id for one in versions_in(of_the_engine())), default=0)
        print(f"wrote {place / append(place, subject, schema, next_id)}")


def _changed(
    wanted: Iterable[tuple[str, Schema]], committed: Iterable[SchemaVersion]
) -> list[tuple[str, Schema]]:
    newest = {version.subject: version.schema for version in committed}
    return [(subject, schema) for subject, schema in wanted if newest.get(subject) != schema]


def _free(taken: set[int], digest: str) -> int:
    while (number := FIRST_FREE_ID + int(digest[:15], 16) % IDS) in taken:
        digest = sha256(digest.encode()).hexdigest()
    return number


def lost_in(older: Any, newer: Any) -> list[str]:
    """Return why the newer schema does not read what the older one wrote; empty if it does."""
    before, after = _types(json.dumps(older)), _types(json.dumps(newer))
    problem = _problem(next(iter(after.values())), next(iter(before.values())))
    if problem is None:
        return []
    alike = [(before[name], after[name]) for name in before if name in after]
    found = [
        one for was, becomes in alike if was.type == becomes.type for one in _lost(was, becomes)
    ]
    return found or [problem]


def _lost(was: Any, becomes: Any) -> Iterator[str]:
    """Yield what the newer one of two records, or of two enumerations, does not read."""
    if was.type == "enum":
        if gone := [one for one in was.symbols if one not in becomes.symbols]:
            yield f"{becomes.name} does not have {', '.join(gone)} any more"
        return
    for field in becomes.fields:
        name, old = f"{becomes.name}.{field.name}", was.fields_dict.get(field.name)
        if old is None:
            if not field.has_default:
                yield f"{name} is new and has no default: give it one"
        elif _problem(field.type, old.type) is not None:
            shown = _shown(old.type), _shown(field.type)
            if shown[0] != shown[1]:  # else the reason is in a type that both name
                yield f"{name} was {shown[0]}, and becomes {shown[1]}"


def _problem(reader: Any, writer: Any) -> str | None:
    from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

    checker: Any = ReaderWriterCompatibilityChecker  # untyped, and its annotations are wrong
    found = checker().get_compatibility(reader, writer)
    if found.compatibility is SchemaCompatibilityType.compatible:
        return None
    return f"{'; '.join(sorted(found.messages))} (at {max(found.locations, key=len)})"


@lru_cache(maxsize=64)
def _types(schema: str) -> Types:
    from avro.name import Names  # a package that nothing else needs
    from avro.schema import make_avsc_object

    names = Names()
    make_avsc_object(json.loads(schema), names)
    return names.names


def _shown(schema: Any) -> str:
    if schema.type == "union":
        return " or ".join(map(_shown, schema.schemas))
    if schema.type == "array":
        return f"a list of {_shown(schema.items)}"
    if schema.type == "map":
        return f"a map of {_shown(schema.values)}"
    return str(getattr(schema, "name", schema.type))


def gone_from(older: Any, newer: Any) -> list[str]:
    """Return the fields of records that only the older schema has: Avro reads on without them."""
    before, after = _types(json.dumps(older)), _types(json.dumps(newer))
    return [
        f"{before[name].name}.{field}"
        for name in before
        if name in after
        for field in getattr(before[name], "fields_dict", ())
        if field not in getattr(after[name], "fields_dict", ())
    ]


if __name__ == "__main__":
    main()
