"""The statements that differ between databases do the same on both, for few rows and for many."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    select,
    text,
)
from sqlalchemy import event as sql_event
from sqlalchemy.exc import IntegrityError, OperationalError

from schemas.position import PositionAdjusted
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from tests.postgresql import Server
from verdict.adapters.sql.bulk import MANY
from verdict.adapters.sql.column_types import InstantType
from verdict.adapters.sql.statements import add_new, append, is_any_of, put
from verdict.read_side.schema.database import open_database
from verdict.read_side.schema.layout import create_schema, create_tables

pytestmark = pytest.mark.both_databases

metadata = MetaData()
table = Table(
    "thing_v1",
    metadata,
    Column("name", Text, primary_key=True),
    Column("offset", BigInteger),
    Column("present", Boolean),
    Column("at", InstantType),
    Column("raw", LargeBinary),
    Column("same", BigInteger),
)
others = Table("other_v1", metadata, Column("name", Text), Column("size", BigInteger))
AWKWARD = ["a\tb", "a\nb\r", "\\N", "\\", "", "ä€𝄞", "'\"", "\x01\x7f", "{}", "NULL"]
FEW = len(AWKWARD)


@pytest.fixture
def engine(new_database: NewDatabase) -> Iterator[Engine]:
    engine = open_database(new_database())
    with engine.begin() as connection:
        create_schema(connection)
        create_tables(connection, metadata)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as connection:
        yield connection


def things(count: int, **values: Any) -> list[dict[str, Any]]:
    """Return so many rows, the first with awkward names."""
    names = [*AWKWARD, *(f"t-{n}" for n in range(count - FEW))]
    row = {"offset": 2**62, "present": True, "at": 1_795_300_000_123, "raw": b"\0\\x\xff"}
    return [{"name": name, **row, **values} for name in names]


def everything(connection: Connection) -> list[dict[str, Any]]:
    columns = [column for column in table.columns if column.name != "same"]
    return [dict(row) for row in connection.execute(select(*columns)).mappings()]


@pytest.mark.parametrize("count", [FEW, MANY])
def test_what_is_put_is_there_as_it_was(connection: Connection, count: int) -> None:
    put(connection, table, things(count, present=None))
    put(connection, table, rows := things(count))

    assert sorted(everything(connection), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize("count", [FEW, MANY])
def test_rows_that_are_there_are_not_added_again(connection: Connection, count: int) -> None:
    assert add_new(connection, table, things(FEW)[:3]) == 3

    assert add_new(connection, table, things(count, offset=1)) == count - 3
    assert add_new(connection, table, [*things(count), *things(count)]) == 0

    assert [row["offset"] for row in everything(connection)].count(1) == count - 3


@pytest.mark.parametrize("count", [FEW, MANY])
def test_what_must_be_new_and_is_not_is_an_error(engine: Engine, count: int) -> None:
    with engine.begin() as connection:
        append(connection, table, things(count))

    with pytest.raises(IntegrityError), engine.begin() as connection:
        append(connection, table, things(count))
    with engine.begin() as connection:
        assert len(everything(connection)) == count


@pytest.mark.parametrize("count", [FEW, MANY])
def test_the_database_works_out_a_value_for_each_row(connection: Connection, count: int) -> None:
    append(connection, others, [{"name": "t-1", "size": 3}, {"name": "\\N", "size": 4}])
    size = select(func.sum(others.c.size)).where(others.c.name == bindparam("of")).scalar_subquery()
    rows = [{**row, "of": row["name"]} for row in things(count)]

    put(connection, table, rows, (("same", size),))

    found = {row.name: row.same for row in connection.execute(select(table.c.name, table.c.same))}
    assert len(found) == count
    wanted = {"\\N": 4, "t-1": 3} if count > FEW else {"\\N": 4}
    assert {name: same for name, same in found.items() if same is not None} == wanted


@pytest.mark.parametrize("count", [FEW, MANY])
def test_rows_are_found_by_any_number_of_keys(connection: Connection, count: int) -> None:
    put(connection, table, rows := things(count))
    keys = [row["name"] for row in rows[1:]] + ["no such"] * 40_000

    found = connection.scalar(
        select(func.count()).select_from(table).where(is_any_of(connection, table.c.name, keys))
    )

    assert found == count - 1


def test_texts_are_in_the_order_of_their_code_points(connection: Connection) -> None:
    put(connection, table, things(FEW) + [{**things(FEW)[0], "name": n} for n in ("b", "B", "É")])

    names = [*connection.execute(select(table.c.name).order_by(table.c.name)).scalars()]

    assert names == sorted(names)
    if connection.dialect.name == "postgresql":  # whose own order is this one in tests
        ordered = text(
            "SELECT collation_name FROM information_schema.columns "
            "WHERE table_schema = 'projections' AND data_type = 'text'"
        )
        assert {*connection.scalars(ordered)} == {"C"}


@pytest.mark.proves("A-06")
def test_a_connection_that_is_lost_in_copying_is_no_fault_of_the_projection(
    postgresql: Server, log: EventLog
) -> None:
    with postgresql.database() as url:
        read_side = ReadSide(url)
        applier = read_side.applier("us_holder")
        for number in range(MANY):
            log.add(f"p-{number}", opened("ada"), PositionAdjusted(amount=2))
        statements: list[str] = []

        def cut(connection: Any, cursor: Any, statement: str, *_: object) -> None:
            if "us_holder_row" in statement and not statements:  # the rows are copied next
                statements.append(statement)
                pid = connection.connection.driver_connection.info.backend_pid
                postgresql.execute(f"SELECT pg_terminate_backend({pid}, 30000)")

        sql_event.listen(read_side.engine, "after_cursor_execute", cut)
        with pytest.raises(OperationalError):
            applier.apply(log.everything())

        assert statements
        assert not applier.is_stopped
        read_side.applier("us_holder").apply(log.everything())
        assert read_side.holders() == {"ada": MANY}
        read_side.close()
