"""What an application names and how much a state holds fits into both databases, or is refused."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import create_model
from sqlalchemy import Column, Text

from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from verdict.adapters.sql.readers.reader import Reader
from verdict.model.aggregate import Aggregate, InvalidApplicationError
from verdict.model.command import CREATING, Command
from verdict.model.message import Event, Message
from verdict.read_side.catalog import check_identifiers
from verdict.read_side.projections.builtin.aggregate_state import aggregate_state
from verdict.read_side.projections.builtin.event_archive import event_archive
from verdict.read_side.projections.projection import Projection
from verdict.read_side.projections.row_projection import RowProjection
from verdict.read_side.projections.stored_rows import row_table
from verdict.read_side.tables.columns import SYSTEM_COLUMNS


class Make(Command):
    starts_from = CREATING


class Made(Event):
    pass


def of_state(*fields: str, name: str = "thing") -> RowProjection[Any]:
    """Return the projection of a state with these fields."""
    state: Any = create_model(  # type: ignore[call-overload]
        "State", __base__=Message, **dict.fromkeys(fields, (int, 0))
    )
    thing = Aggregate(name, state, lambda *_: [], lambda *_: state(), Make, Made)
    return aggregate_state(thing)


def read(read_side: ReadSide, projection: Projection) -> list[dict[str, Any]]:
    """Return a state's rows, which are one, as the page reads them."""
    role = "verdict_reader"
    with Reader(read_side.url, [*projection.views], role, masked=True) as reader:
        found = reader.select(f"SELECT * FROM {projection.name}")
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


@pytest.mark.both_databases
def test_system_columns_of_postgresql_give_way_and_long_names_fit(
    new_database: NewDatabase,
) -> None:
    projection = of_state(*sorted(SYSTEM_COLUMNS), name="a" * 40)
    check_identifiers(projection)
    read_side = ReadSide(new_database(), [event_archive(APPLICATION), projection])
    row = {"aggregate_id": "t-1", "version": 1, "present": True, "life_cycle": "ACTIVE"}
    with read_side.engine.begin() as connection:
        connection.execute(projection.table.insert(), {**row, "decided_at": 0, "state_xmin": 7})
    [row] = read(read_side, projection)
    read_side.close()

    assert row["state_xmin"] == 7
    assert not SYSTEM_COLUMNS & row.keys()


def test_a_name_that_postgresql_would_cut_is_refused() -> None:
    projection = replace(of_state(), views={"v" * 64: of_state().views["thing_state"]})

    with pytest.raises(InvalidApplicationError, match=r"has the view 'v{64}' of 64 bytes"):
        check_identifiers(projection)


def test_a_reserved_column_of_a_table_is_refused() -> None:
    table = row_table("mine_v1", of_state().table.metadata.__class__(), Column("ctid", Text))

    with pytest.raises(InvalidApplicationError, match="has the column 'ctid' in mine_v1"):
        check_identifiers(replace(of_state(), table=table, views={}))


def test_a_name_of_an_aggregate_is_at_most_forty_letters() -> None:
    with pytest.raises(InvalidApplicationError, match="take a letter, then at most 39 more"):
        of_state(name="a" * 41)
