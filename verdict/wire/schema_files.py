"""Schema files and their ids: append-only, committed, readable without a registry."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from verdict.model.registry import roots
from verdict.wire.bounds import check_bounded


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version of a subject's schema, under an id that never changes its meaning."""

    id: int
    subject: str
    version: int
    schema: dict[str, Any]


class SchemaIdClash(ValueError):
    """Two packages use one schema id for different schemas."""

    def __init__(self, first: SchemaVersion, second: SchemaVersion) -> None:
        super().__init__(
            f"schema id {first.id} is {first.subject} v{first.version} and "
            f"{second.subject} v{second.version}: give the newer one a free id"
        )


def folder(root: str = "") -> Traversable:
    """Return where the package with prefix `root` keeps its schema files and `ids.json`."""
    return files(f"{root}schemas") / "avro"


def versions_in(place: Traversable) -> Iterator[SchemaVersion]:
    """Yield the schema versions that `ids.json` in `place` lists."""
    index = place / "ids.json"
    for entry in json.loads(index.read_text()) if index.is_file() else []:
        schema = json.loads((place / entry["file"]).read_text())
        yield SchemaVersion(entry["id"], entry["subject"], entry["version"], schema)


@cache
def by_id() -> dict[int, SchemaVersion]:
    """Return every known schema version by id.

    Raises:
        SchemaIdClash: Two packages claim the same id.
        UnboundedSchema: A few hostile bytes of one of them could end this process.
    """
    known: dict[int, SchemaVersion] = {}
    for root in roots():
        for version in versions_in(folder(root)):
            if (other := known.setdefault(version.id, version)) is not version:
                raise SchemaIdClash(other, version)
            check_bounded(f"{version.subject} v{version.version}", version.schema)
    return known


@cache
def newest(subject: str) -> SchemaVersion:
    """Return the schema that `subject` is written with.

    Raises:
        LookupError: No package has a schema of this subject.
    """
    found = [version for version in by_id().values() if version.subject == subject]
    if not found:
        raise LookupError(f"no schema for {subject!r}: run `make schemas`")
    return max(found, key=lambda version: version.version)
