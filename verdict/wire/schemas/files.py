"""Schema files and their ids: append-only, committed, readable without a registry.

The engine's lie beside this module, the application's in its own package. An id never changes its
meaning: those below `FIRST_FREE_ID` are the engine's, and of the first application.
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
from verdict.wire.schemas.bounds import require_bounded

FIRST_FREE_ID = 1000


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version of a subject's schema, under an id that never changes its meaning."""

    id: int
    subject: str
    version: int
    schema: dict[str, Any]


class SchemaIdClashError(VerdictError):
    """One schema id stands for two schemas."""

    def __init__(
        self, first: "SchemaVersion | SchemaEntry", second: "SchemaVersion | SchemaEntry"
    ) -> None:
        super().__init__(
            f"schema id {first.id} is {first.subject} v{first.version} and "
            f"{second.subject} v{second.version}: give the newer one a free id"
        )


class DamagedSchemaFileError(VerdictError):
    """What was written once is not there any more."""


class SchemaNotFoundError(VerdictError, LookupError):
    """Something has no schema file yet."""


def of_the_engine() -> Traversable:
    """Return where the schema files of progress records, responses and the like are."""
    return files("verdict.wire") / "avro"


def of_the_aggregates(application: Application) -> Traversable:
    """Return where an application keeps the schema files of its aggregates.

    Raises:
        VerdictError: It names a package that is not there.
    """
    package = application.schemas
    try:
        return files(package) / "avro"
    except (ImportError, TypeError) as error:
        raise VerdictError(
            f"{application.name} keeps its schemas in the package {package!r}, which cannot be "
            f"imported ({error}): mend `schemas` of the application"
        ) from error


class SchemaEntry(NamedTuple):
    """What `ids.json` says of one schema version; nothing of the file has been read."""

    id: int
    subject: str
    version: int
    file: Traversable

    def read(self) -> SchemaVersion:
        """Return the version with its schema.

        Raises:
            DamagedSchemaFileError: The file is missing, or no JSON.
            UnboundedSchemaError: A few hostile bytes of it could end this process.
        """
        schema = _content(self.file)
        require_bounded(f"{self.subject} v{self.version}", schema)
        return SchemaVersion(self.id, self.subject, self.version, schema)


def versions_in(place: Traversable) -> Iterator[SchemaVersion]:
    """Yield the schema versions that `ids.json` in `place` lists; raises as `SchemaEntry.read`."""
    return (entry.read() for entry in entries_in(place))


def entries_in(place: Traversable) -> Iterator[SchemaEntry]:
    """Yield what `ids.json` in `place` lists.

    Raises:
        DamagedSchemaFileError: It is no JSON.
    """
    index = place / "ids.json"
    for entry in _content(index) if index.is_file() else []:
        yield SchemaEntry(entry["id"], entry["subject"], entry["version"], place / entry["file"])


def _content(file: Traversable) -> Any:
    try:
        return json.loads(file.read_text())
    except (*ABSENT, ValueError) as error:
        raise DamagedSchemaFileError(
            f"the schema file {file} cannot be read ({error}): records need it for ever, "
            "so take it from your version control"
        ) from error


class SchemaFiles:
    """The schema versions that bytes may be written with: the engine's and an application's.

    A file is read once, when it is needed first.

    Args:
        application: Whose files there are besides the engine's; None: no others.
    """

    def __init__(self, application: Application | None) -> None:
        self._application = application
        self._versions: dict[str, dict[int, SchemaVersion]] = {}

    @cached_property
    def by_id(self) -> dict[int, SchemaVersion]:
        """Every schema version by id.

        Raises:
            SchemaIdClashError: One id is used twice.
            DamagedSchemaFileError: A file is missing, or no JSON.
            UnboundedSchemaError: A few hostile bytes of one of them could end this process.
        """
        return _sound([*self._engine, *self._aggregates])

    @cached_property
    def subjects(self) -> dict[int, str]:
        """Whose schema each id is; of two that share one, the one that had it first."""
        every = [*self._engine, *self._aggregates]
        return {entry.id: entry.subject for entry in reversed(every)}

    def versions_of(self, subject: str) -> dict[int, SchemaVersion]:
        """Return the schema versions of one subject by id; damage to others does no harm.

        Raises:
            SchemaIdClashError, DamagedSchemaFileError, UnboundedSchemaError: As for `by_id`.
        """
        if (found := self._versions.get(subject)) is None:
            found = self._versions[subject] = self._read(subject)
        return found

    def newest(self, subject: str) -> SchemaVersion:
        """Return the schema that `subject` is written with.

        Raises:
            SchemaNotFoundError: There is no schema of this subject.
        """
        if not (found := self.versions_of(subject).values()):
            raise SchemaNotFoundError(f"no schema for {subject!r}: run `verdict schemas write`")
        return max(found, key=lambda version: version.version)

    def _read(self, subject: str) -> dict[int, SchemaVersion]:
        # what the engine writes must not wait for an application to be mended
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
    """Read the entries of one subject, or all, and see that nobody else has their ids."""
    known: dict[int, SchemaEntry] = {}
    for entry in entries:
        other = known.setdefault(entry.id, entry)
        if other is not entry and subject in (None, entry.subject, other.subject):
            raise SchemaIdClashError(other, entry)
    return {one.id: one.read() for one in known.values() if subject in (None, one.subject)}
