"""A build meets rows that the database refuses, whose aggregate the live version merely holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from projections.us_holder import us_holder
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.rebuild.build import ProjectionBuild
from verdict.read_side.rebuild.errors import BuildStoppedError
from verdict.read_side.rebuild.final_rows import FoldedRows
from verdict.read_side.rebuild.version_pair import create_next
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables import position, versions
from verdict.read_side.tables.row_states import VersionState
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.wire.partitions import TopicPartition

BUILT = compile_projection(us_holder, 2)
ROW = {
    "aggregate_id": "p-1", "version": 1, "group_key": "ada", "client": "ada", "exchange": "NYSE",
    "present": True,
}  # fmt: skip


class Folded:
    """Rows that somebody else has folded."""

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self._rows = rows

    def __call__(self, projection: object, ends: object, in_force: object) -> Iterator[FoldedRows]:
        columns = BUILT.builder.columns
        yield FoldedRows([tuple(row[name] for name in columns) for row in self._rows], [])


@pytest.mark.parametrize(
    ("opened_at", "refused"),
    [
        ([2**60], "OverflowError: "),  # no date, so it is refused before the database has seen it
        ([None], "IntegrityError: NOT NULL constraint failed: us_holder_v2.since"),  # by its group
        ([1, 2], "IntegrityError: UNIQUE constraint failed: us_holder_row_v2.aggregate_id"),
    ],
)
def test_it_is_said_and_no_position_is_written(
    tmp_path: Path, opened_at: list[int | None], refused: str
) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'verdict.db'}")
    create_read_side(engine, [compile_projection(us_holder)])
    create_next(engine, "us_holder", lambda version: compile_projection(us_holder, version))
    fold = Folded([ROW | {"opened_at": at} for at in opened_at])
    building = ProjectionBuild(engine, BUILT, ignore_step, ignore_step)

    said = rf"^projection us_holder v2 stopped: the database refuses a row: {refused}.*readers"
    with pytest.raises(BuildStoppedError, match=said):
        building.write(fold, {TopicPartition("position.events", 0): 1})

    with engine.begin() as connection:
        assert versions.of(connection, BUILT).state == VersionState.INCOMPLETE
        assert position.load(connection, BUILT) == {}
    engine.dispose()
