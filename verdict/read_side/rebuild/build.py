"""Fills the tables of a version that nobody sees, from everything that there ever was."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pyarrow as pa
from sqlalchemy import Connection, Engine

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.time_text import wall_clock
from verdict.read_side.apply.one_by_one import refuses_values
from verdict.read_side.live.final_rows import ERROR, GAP, gap_of
from verdict.read_side.projections.builder import Rebuildable
from verdict.read_side.projections.projection import Applied, Projection
from verdict.read_side.rebuild.errors import BuildStoppedError, ConcurrentBuildError
from verdict.read_side.rebuild.folds import BuildFold
from verdict.read_side.rebuild.steps import BuildStep, OnStep, Tell
from verdict.read_side.schema import filling
from verdict.read_side.tables import blocked, interventions, position, versions
from verdict.read_side.tables.blocked import Held, TooManyBlockedError
from verdict.read_side.tables.position import Positions


class ProjectionBuild:
    """Lets a whole log be folded, and writes each final row once.

    Args:
        fold: Makes the rows of everything that there ever was.
        engine: Of the database; the tables are empty, and readers do not see them.
        tell: Told how far it has come, for a person who waits.
        on_step: Called at each step.
    """

    def __init__(self, fold: BuildFold, engine: Engine, tell: Tell, on_step: OnStep) -> None:
        self._fold = fold
        self._engine = engine
        self._tell = tell
        self._on_step = on_step

    def build(self, projection: Projection, ends: Positions) -> None:
        """Make the tables as they are after everything before `ends`.

        The service may run meanwhile: it writes other tables. The position is written last, with
        what follows from the rows; up to then the version is a torso, and is begun anew.

        Raises:
            EventsMissingError: Neither Kafka nor the archive has all of it any more.
            BuildStoppedError: The projection failed at a record, or the database refuses a row.
            ConcurrentBuildError: Somebody else has begun the version anew.
        """
        assert isinstance(projection, Rebuildable), "what has tables can be built"
        build = uuid4().hex
        with self._engine.begin() as connection:
            versions.build(connection, projection, build)
        self._on_step(BuildStep.BEGUN)
        name = f"{projection.name} v{projection.version}"
        self._tell(f"{name}: folding {sum(ends.values()):,} offsets")
        rows = self._folded(projection, ends)
        table, written = projection.tables[0], 0
        held: Held = {}
        with self._writing(projection, build) as connection:
            filling.drop_indexes(connection, table)
        for batch in rows:
            held = self._write(projection, build, batch, held)
            written += batch.num_rows
            self._tell(f"{name}: {written:,} rows")
            self._on_step(BuildStep.WRITTEN)
        if held:
            self._tell(f"{name}: {len(held):,} aggregates are held, see `verdict projection list`")
        with self._writing(projection, build) as connection:
            _complete(connection, projection, ends, held)
        self._on_step(BuildStep.BUILT)

    def _folded(self, projection: Rebuildable, ends: Positions) -> Iterator[pa.RecordBatch]:
        with self._engine.connect() as connection:
            decided = interventions.in_force(connection, projection.name)
        return self._fold(projection, ends, decided)

    @contextmanager
    def _writing(self, projection: Rebuildable, build: str) -> Iterator[Connection]:
        """Give a transaction in which the version is that of `build`, and nobody begins it anew.

        What the database refuses stops the build: rows come as they are in the end, so nobody knows
        behind which event the live version holds that aggregate.
        """
        with _refusing_in_words(projection), self._engine.begin() as connection:
            if not versions.is_build(connection, projection, build):
                raise ConcurrentBuildError(projection.name, projection.version)
            yield connection

    def _write(
        self, projection: Rebuildable, build: str, batch: pa.RecordBatch, held: Held
    ) -> Held:
        """Write some rows in one transaction; on SQLite a running service waits for its end."""
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        errors, gaps = columns.pop(ERROR), columns.pop(GAP)
        if found := [*filter(None, errors)]:
            raise BuildStoppedError(projection, found[0])
        table = projection.tables[0]
        found_gaps = Applied(gaps=[gap_of(gap) for gap in filter(None, gaps)])
        key = columns[next(iter(table.primary_key)).name]
        if None in key:  # a gap without a row
            kept = [at for at, value in enumerate(key) if value is not None]
            columns = {name: [values[at] for at in kept] for name, values in columns.items()}
        with self._writing(projection, build) as connection:
            filling.fill_tables(connection, table, columns)
            try:
                return blocked.record(
                    connection, projection, found_gaps, wall_clock(), held, seen=False
                )
            except TooManyBlockedError as error:
                raise BuildStoppedError(projection, str(error)) from error


def _complete(connection: Connection, projection: Rebuildable, ends: Positions, held: Held) -> None:
    """Make what follows from the rows, and say that the version is whole."""
    filling.create_indexes(connection, projection.tables[0])
    projection.complete(connection)
    position.advance(connection, projection, {}, ends)
    versions.finish(connection, projection)


@contextmanager
def _refusing_in_words(projection: Projection) -> Iterator[None]:
    """Say which projection has values that no database of this kind can keep.

    Raises:
        BuildStoppedError: The database, or its driver, refused some.
    """
    try:
        yield
    except Exception as error:
        if not refuses_values(error):
            raise
        refused = getattr(error, "orig", None) or error  # without the statement and its rows
        said = f"the database refuses a row: {type(refused).__name__}: {one_line_error(refused)}"
        raise BuildStoppedError(projection, said) from error
