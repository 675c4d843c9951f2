"""Fills the tables of a version that readers do not see, from the whole log."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from sqlalchemy import Connection, Engine

from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.statements import append
from verdict.adapters.sql.time_text import wall_clock
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.apply.one_by_one import refuses_values
from verdict.read_side.projections.projection import Applied, CannotApplyError, Rebuildable
from verdict.read_side.rebuild.errors import BuildStoppedError, ConcurrentBuildError
from verdict.read_side.rebuild.final_rows import FoldedRows
from verdict.read_side.rebuild.log_replay import check_applied, replay
from verdict.read_side.rebuild.version_pair import BuildStep, OnStep
from verdict.read_side.schema import layout
from verdict.read_side.tables import blocked, interventions, position, versions
from verdict.read_side.tables.blocked import Held, TooManyBlockedError
from verdict.read_side.tables.interventions import Amendments
from verdict.streaming.exactly_once.failpoints import ProgressCallback
from verdict.wire.partitions import PartitionOffsets
from verdict.wire.topics import Topics

Fold = Callable[[Rebuildable, PartitionOffsets, Amendments], Iterator[FoldedRows]]
"""Folds all records before the ends into rows of the first table; may raise CannotApplyError."""


@dataclass(frozen=True)
class ProjectionBuild:
    """One attempt to fill the empty tables of a version; the service may run at the same time.

    If it fails, the version stays incomplete, and the next attempt begins with empty tables.
    """

    engine: Engine
    projection: Rebuildable
    tell: ProgressCallback
    on_step: OnStep
    id: str = field(default_factory=lambda: uuid4().hex)

    def replay(
        self, deliveries: Iterable[Delivery], ends: PartitionOffsets, topics: Topics
    ) -> None:
        """Apply a short log batch by batch, as the live version does."""
        self._begin(ends)
        applier = Applier(self, self.projection, topics, live=False)
        replay(applier, deliveries, ends)
        check_applied(applier)
        self.on_step(BuildStep.WRITTEN)
        with self.begin() as connection:
            held = blocked.load(connection, self.projection)
            faults = [hold.error for hold in held.values() if hold.error]
            if faults and self.projection.waits_for_events:
                raise BuildStoppedError(self.projection, faults[0])
            versions.finish(connection, self.projection)
        self._report(held)

    def write(self, fold: Fold, ends: PartitionOffsets) -> None:
        """Write each final row of a log of any length once.

        The last transaction fills the tables that follow from the rows, and writes the position.
        """
        self._begin(ends)
        table, written = self.projection.tables[0], 0
        held: Held = {}
        with self.begin() as connection:
            decided = interventions.in_force(connection, self.projection.name)
            layout.drop_indexes(connection, table)
        try:
            for rows in fold(self.projection, ends, decided):
                held = self._write(rows, held)
                written += len(rows.values)
                self.tell(f"{self._name}: {written:,} rows")
                self.on_step(BuildStep.WRITTEN)
        except CannotApplyError as error:
            raise BuildStoppedError(self.projection, str(error)) from error
        with self.begin() as connection:
            layout.create_indexes(connection, table)
            self.projection.complete(connection)
            position.advance(connection, self.projection, {}, ends)
            versions.finish(connection, self.projection)
        self._report(held)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Give a transaction in which no other build of the version can write."""
        projection = self.projection
        with _translate_refusal(projection), self.engine.begin() as connection:
            if not versions.is_build(connection, projection, self.id):
                raise ConcurrentBuildError(projection.name, projection.version)
            yield connection

    def connect(self) -> Connection:
        """Return a connection that only reads."""
        return self.engine.connect()

    @property
    def _name(self) -> str:
        return f"{self.projection.name} v{self.projection.version}"

    def _begin(self, ends: PartitionOffsets) -> None:
        with self.engine.begin() as connection:
            versions.build(connection, self.projection, self.id)
        self.on_step(BuildStep.BEGUN)
        self.tell(f"{self._name}: folding {sum(ends.values()):,} offsets")

    def _report(self, held: Held) -> None:
        if held:
            number = f"{len(held):,} aggregates are blocked"
            self.tell(f"{self._name}: {number}, see `verdict projection list`")
        self.on_step(BuildStep.BUILT)

    def _write(self, rows: FoldedRows, held: Held) -> Held:
        gaps = Applied(gaps=rows.gaps)
        with self.begin() as connection:
            names = self.projection.builder.columns
            append(connection, self.projection.tables[0], BulkRows(names, rows.values))
            try:
                return blocked.record(
                    connection, self.projection, gaps, wall_clock(), held, seen=False
                )
            except TooManyBlockedError as error:
                raise BuildStoppedError(self.projection, str(error)) from error


@contextmanager
def _translate_refusal(projection: Rebuildable) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not refuses_values(error):
            raise
        refused = getattr(error, "orig", None) or error  # without the statement and its rows
        said = f"the database refuses a row: {type(refused).__name__}: {one_line_error(refused)}"
        raise BuildStoppedError(projection, said) from error
