"""Schema files and their permanent ids, of the engine and of an application.

Ids below `FIRST_FREE_ID` belong to the engine and the first application.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from verdict.errors import ABSENT, VerdictError
from verdict.model.application import Application
from verdict.model.message import JsonObject
from verdict.wire.schemas.checks import require_bounded

FIRST_FREE_ID = 1000


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version of a subject's schema."""

    id: int
    subject: str
    version: int
    schema: JsonObject


class SchemaIdClashError(VerdictError):
    """Two schemas have one id."""

    def __init__(
        self, first: "SchemaVersion | SchemaEntry", second: "SchemaVersion | SchemaEntry"
    ) -> None:
        super().__init__(
            f"schema id {first.id} is {first.subject} v{first.version} and "
            f"{second.subject} v{second.version}: give the newer one a free id"
        )


class DamagedSchemaFileError(VerdictError):
    """A schema file is missing or damaged."""


class SchemaNotFoundError(VerdictError, LookupError):
    """There is no schema file of this subject."""


def of_the_engine() -> Traversable:
    """Return the folder of the engine's schema files."""
    return files("verdict.wire") / "avro"


def of_the_aggregates(application: Application) -> Traversable:
    """Return the folder of an application's schema files.

    Raises:
        VerdictError: Its package is not there.
    """
    package = application.schemas
    try:
        return files(package) / "avro"
    except (ImportError, TypeError) as error:
        raise VerdictError(
            f"{application.name} keeps its schemas in the package {package!r}, which cannot be "
            f"imported ({error}): fix `schemas` of the application"
        ) from error


class SchemaEntry(NamedTuple):
    """A schema version in `ids.json`, whose file is not read yet."""

    id: int
    subject: str
    version: int
    file: Traversable

    def read(self) -> SchemaVersion:
        """Return the version with its schema.

        Raises:
            DamagedSchemaFileError: The file is missing, or no JSON.
            UnboundedSchemaError: A few hostile bytes could end this process.
        """
        schema = _content(self.file)
        require_bounded(f"{self.subject} v{self.version}", schema)
        return SchemaVersion(self.id, self.subject, self.version, schema)


def versions_in(place: Traversable) -> Iterator[SchemaVersion]:
    """Yield the schema versions that `ids.json` in `place` lists; raises as `SchemaEntry.read`."""
    return (entry.read() for entry in entries_in(place))


def entries_in(place: Traversable) -> Iterator[SchemaEntry]:
    """Yield the entries of `ids.json` in `place`; raises `DamagedSchemaFileError`."""
    index = place / "ids.json"
    for entry in _content(index) if index.is_file() else []:
        yield SchemaEntry(entry["id"], entry["subject"], entry["version"], place / entry["file"])


def _content(file: Traversable) -> Any:
    try:
        return json.loads(file.read_text())
    except (*ABSENT, ValueError) as error:
        raise DamagedSchemaFileError(
            f"the schema file {file} cannot be read ({error}): records always need it, "
            "so take it from your version control"
        ) from error


class SchemaFiles:
    """The schema versions of the engine and of an application, if there is one.

    A file is read at its first use.
    """

    def __init__(self, application: Application | None) -> None:
        self._application = application
        self._versions: dict[str, dict[int, SchemaVersion]] = {}

    @cached_property
    def by_id(self) -> dict[int, SchemaVersion]:
        """Every schema version by id.

        Raises:
            SchemaIdClashError: An id is used twice.
            DamagedSchemaFileError, UnboundedSchemaError: As `SchemaEntry.read`.
        """
        return _sound([*self._engine, *self._aggregates])

    @cached_property
    def subjects(self) -> dict[int, str]:
        """Id → subject; of two that share an id, the first one."""
        every = [*self._engine, *self._aggregates]
        return {entry.id: entry.subject for entry in reversed(every)}

    def versions_of(self, subject: str) -> dict[int, SchemaVersion]:
        """Return the schema versions of one subject by id, whatever is wrong with others.

        Raises:
            SchemaIdClashError, DamagedSchemaFileError, UnboundedSchemaError: As for `by_id`.
        """
        if (found := self._versions.get(subject)) is None:
            found = self._versions[subject] = self._read(subject)
        return found

    def newest(self, subject: str) -> SchemaVersion:
        """Return the newest schema of a subject; raises `SchemaNotFoundError`."""
        if not (found := self.versions_of(subject).values()):
            raise SchemaNotFoundError(f"no schema for {subject!r}: run `verdict schemas write`")
        return max(found, key=lambda version: version.version)

    def _read(self, subject: str) -> dict[int, SchemaVersion]:
        # damage to an application's files must not stop the engine's records
        if subject in {entry.subject for entry in self._engine}:
            return _sound(self._engine, subject)
        return _sound([*self._engine, *self._aggregates], subject)

    @cached_property
    def _engine(self) -> list[SchemaEntry]:
        return [*entries_in(of_the_engine())]

    @cached_property
    def _aggregates(self) -> list[SchemaEntry]:
        if self._application is None:
            return []
        return [*entries_in(of_the_aggregates(self._application))]


ENGINE = SchemaFiles(None)


def _sound(entries: Iterable[SchemaEntry], subject: str | None = None) -> dict[int, SchemaVersion]:
    """Read the entries of one subject, or all; raise if one of their ids is used twice."""
    known: dict[int, SchemaEntry] = {}
    for entry in entries:
        other = known.setdefault(entry.id, entry)
        if other is not entry and subject in (None, entry.subject, other.subject):
            raise SchemaIdClashError(other, entry)
    return {one.id: one.read() for one in known.values() if subject in (None, one.subject)}
