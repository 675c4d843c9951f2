"""Schema files and their permanent ids, of the engine and of an application.

Ids below `FIRST_FREE_ID` belong to the engine and the first application.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from verdict.errors import ABSENT, VerdictError
from verdict.model.application import Application
from verdict.model.message import JsonObject
from verdict.wire.avro.reader import avro_reader

FIRST_FREE_ID = 1000


@dataclass(frozen=True)
class SchemaVersion:
    """A version of a subject's schema, as `ids.json` lists it; the first use reads its file."""

    id: int
    subject: str
    version: int
    file: Traversable = field(compare=False)

    @cached_property
    def schema(self) -> JsonObject:
        """The schema; raises `DamagedSchemaFileError` or `UnboundedSchemaError`."""
        schema: JsonObject = _content(self.file)
        require_bounded(f"{self.subject} v{self.version}", schema)
        return schema


class SchemaIdClashError(VerdictError):
    """Two schemas have one id."""

    def __init__(self, first: SchemaVersion, second: SchemaVersion) -> None:
        super().__init__(
            f"schema id {first.id} is {first.subject} v{first.version} and "
            f"{second.subject} v{second.version}: give the newer one a free id"
        )


class UnboundedSchemaError(VerdictError):
    """A few bytes of this schema could take any amount of memory, or end the process."""


def require_bounded(name: str, schema: Any) -> None:
    """Raise `UnboundedSchemaError` unless the bytes of a record bound the memory that it takes."""
    try:
        avro_reader(schema)
    except TypeError as error:
        raise UnboundedSchemaError(f"schema of {name}: {error}") from None


class DamagedSchemaFileError(VerdictError):
    """A schema file is missing or damaged."""


class SchemaNotFoundError(VerdictError, LookupError):
    """There is no schema file of this subject."""


def of_the_engine() -> Traversable:
    """Return the folder of the engine's schema files."""
    return files("verdict.wire") / "avro"


def of_the_aggregates(application: Application) -> Traversable:
    """Return the folder of an application's schema files; raises `VerdictError`."""
    package = application.schemas
    try:
        return files(package) / "avro"
    except (ImportError, TypeError) as error:
        raise VerdictError(
            f"{application.name} keeps its schemas in the package {package!r}, which cannot be "
            f"imported ({error}): fix `schemas` of the application"
        ) from error


def versions_in(place: Traversable) -> Iterator[SchemaVersion]:
    """Yield what `ids.json` in `place` lists; raises `DamagedSchemaFileError`."""
    index = place / "ids.json"
    for entry in _content(index) if index.is_file() else []:
        yield SchemaVersion(entry["id"], entry["subject"], entry["version"], place / entry["file"])


def _content(file: Traversable) -> Any:
    try:
        return json.loads(file.read_text())
    except (*ABSENT, ValueError) as error:
        raise DamagedSchemaFileError(
            f"the schema file {file} cannot be read ({error}): records always need it, "
            "so take it from your version control"
        ) from error


class SchemaFiles:
    """The schema versions of the engine and of an application, if there is one."""

    def __init__(self, application: Application | None) -> None:
        self._application = application

    @cached_property
    def by_id(self) -> dict[int, SchemaVersion]:
        """Every schema version by id; raises `SchemaIdClashError` or `DamagedSchemaFileError`."""
        return _by_id([*self._engine, *self._aggregates])

    @cached_property
    def subjects(self) -> dict[int, str]:
        """Id → subject; of two that share an id, the first one."""
        every = [*self._engine, *self._aggregates]
        return {one.id: one.subject for one in reversed(every)}

    def versions_of(self, subject: str) -> dict[int, SchemaVersion]:
        """Return those of one subject as `by_id` does, whatever is wrong with others."""
        # damage to an application's files must not stop the engine's records
        if subject in {one.subject for one in self._engine}:
            return _by_id(self._engine, subject)
        return _by_id([*self._engine, *self._aggregates], subject)

    def newest(self, subject: str) -> SchemaVersion:
        """Return the newest schema of a subject; raises `SchemaNotFoundError`."""
        if not (found := self.versions_of(subject).values()):
            raise SchemaNotFoundError(f"no schema for {subject!r}: run `verdict schemas write`")
        return max(found, key=lambda version: version.version)

    @cached_property
    def _engine(self) -> list[SchemaVersion]:
        return [*versions_in(of_the_engine())]

    @cached_property
    def _aggregates(self) -> list[SchemaVersion]:
        if self._application is None:
            return []
        return [*versions_in(of_the_aggregates(self._application))]


ENGINE = SchemaFiles(None)


def _by_id(versions: Iterable[SchemaVersion], subject: str = "") -> dict[int, SchemaVersion]:
    """Return the versions of one subject, or all, by id; raise if an id is used twice."""
    known: dict[int, SchemaVersion] = {}
    for one in versions:
        other = known.setdefault(one.id, one)
        if other is not one and subject in ("", one.subject, other.subject):
            raise SchemaIdClashError(other, one)
    return {one.id: one for one in known.values() if subject in ("", one.subject)}
