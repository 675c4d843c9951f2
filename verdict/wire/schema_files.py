"""Schema files and their ids: append-only, committed, readable without a registry.

The engine's lie beside this module, the application's in its own package. An id never changes its
meaning: those below `FIRST_FREE_ID` are the engine's, and of the first application.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from verdict.application import current, of_the_application
from verdict.errors import VerdictError
from verdict.wire.bounds import check_bounded

FIRST_FREE_ID = 1000


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version of a subject's schema, under an id that never changes its meaning."""

    id: int
    subject: str
    version: int
    schema: dict[str, Any]


class SchemaIdClash(VerdictError):
    """One schema id stands for two schemas."""

    def __init__(self, first: SchemaVersion, second: SchemaVersion) -> None:
        super().__init__(
            f"schema id {first.id} is {first.subject} v{first.version} and "
            f"{second.subject} v{second.version}: give the newer one a free id"
        )


class SchemaFileDamaged(VerdictError):
    """What was written once is not there any more."""


class NoSchema(VerdictError, LookupError):
    """Something has no schema file yet."""


def of_the_engine() -> Traversable:
    """Return where the schema files of markers, responses and the like are."""
    return files("verdict.wire") / "avro"


def of_the_aggregates() -> Traversable:
    """Return where the application keeps the schema files of its aggregates.

    Raises:
        VerdictError: It names a package that is not there.
    """
    package = current().schemas
    try:
        return files(package) / "avro"
    except (ImportError, TypeError) as error:
        raise VerdictError(
            f"{current().name} keeps its schemas in the package {package!r}, which cannot be "
            f"imported ({error}): mend `schemas` of the application"
        ) from error


def versions_in(place: Traversable) -> Iterator[SchemaVersion]:
    """Yield the schema versions that `ids.json` in `place` lists.

    Raises:
        SchemaFileDamaged: One of the files is missing, or no JSON.
    """
    index = place / "ids.json"
    for entry in _content(index) if index.is_file() else []:
        schema = _content(place / entry["file"])
        yield SchemaVersion(entry["id"], entry["subject"], entry["version"], schema)


def _content(file: Traversable) -> Any:
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise SchemaFileDamaged(
            f"the schema file {file} cannot be read ({error}): records need it for ever, "
            "so take it from your version control"
        ) from error


@of_the_application
def by_id() -> dict[int, SchemaVersion]:
    """Return every known schema version by id, as the files were when it was asked first.

    Raises:
        SchemaIdClash, UnboundedSchema: As for `read_by_id`.
    """
    return read_by_id()


def read_by_id() -> dict[int, SchemaVersion]:
    """Return every known schema version by id, as the files are now.

    Raises:
        SchemaIdClash: One id is used twice.
        UnboundedSchema: A few hostile bytes of one of them could end this process.
    """
    return _distinct({**_of_the_engine()}, of_the_aggregates())


@of_the_application
def newest(subject: str) -> SchemaVersion:
    """Return the schema that `subject` is written with.

    Raises:
        NoSchema: There is no schema of this subject.
    """
    # what the engine writes must not wait for an application to be mended
    for known in (_of_the_engine, by_id):
        if found := [version for version in known().values() if version.subject == subject]:
            return max(found, key=lambda version: version.version)
    raise NoSchema(f"no schema for {subject!r}: run `verdict schemas write`")


@cache
def _of_the_engine() -> dict[int, SchemaVersion]:
    return _distinct({}, of_the_engine())


def _distinct(known: dict[int, SchemaVersion], place: Traversable) -> dict[int, SchemaVersion]:
    for version in versions_in(place):
        if (other := known.setdefault(version.id, version)) is not version:
            raise SchemaIdClash(other, version)
        check_bounded(f"{version.subject} v{version.version}", version.schema)
    return known
