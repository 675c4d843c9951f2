"""Compares the tables of two versions of a projection: rows, checksums, and rows that differ."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, Row, RowMapping, Select, Table, select

from verdict.adapters.sql.column_types import InstantType
from verdict.model.message import iso_time

FETCHED = 10_000  # rows at a time
NAMED = 20  # differing rows of a table


class TableContent(NamedTuple):
    """The content of a table: its rows, and a SHA-256 in hex of them in the order of their keys."""

    rows: int
    checksum: str


class RowDifference(NamedTuple):
    """A row that differs: its key, and its columns in each version, None if there is no row.

    It is for people: times are ISO 8601.
    """

    key: tuple[Any, ...]
    live: dict[str, Any] | None
    built: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of one table; `differing` has at most `NAMED` of the rows that differ."""

    live_table: str
    built_table: str
    live: TableContent
    built: TableContent
    differing: tuple[RowDifference, ...]

    @property
    def equal(self) -> bool:
        """Whether both have the same content."""
        return self.live == self.built


def compare(connection: Connection, live: Table, built: Table) -> Compared:
    """Compare two tables by the columns that both have."""
    shared = [column.name for column in live.columns if column.name in built.columns]
    contents = content(connection, live, shared), content(connection, built, shared)
    same = contents[0] == contents[1]
    differing = () if same else _differing(connection, live, built, shared)
    return Compared(live.name, built.name, *contents, differing)


def content(
    connection: Connection,
    table: Table,
    names: list[str] | None = None,
    where: ColumnElement[bool] | None = None,
) -> TableContent:
    """Return rows and checksum of a table, of all of its columns and rows or of some."""
    columns = [table.c[name] for name in names or table.c.keys()]
    statement = select(*columns).order_by(*table.primary_key)
    if where is not None:
        statement = statement.where(where)
    rows, digest = 0, sha256()
    for row in connection.execute(statement, execution_options={"yield_per": FETCHED}):
        rows += 1
        digest.update(repr(tuple(row)).encode())
    return TableContent(rows, digest.hexdigest())


def _differing(
    connection: Connection, live: Table, built: Table, shared: list[str]
) -> tuple[RowDifference, ...]:
    keys: dict[tuple[Any, ...], None] = {}
    for one, other in ((live, built), (built, live)):
        only = _columns(one, shared).except_(_columns(other, shared)).limit(NAMED)
        names = [column.name for column in one.primary_key]
        for row in connection.execute(only):
            keys[tuple(row._mapping[name] for name in names)] = None
    return tuple(
        RowDifference(
            key, row_of(connection, live, shared, key), row_of(connection, built, shared, key)
        )
        for key in sorted(keys, key=repr)[:NAMED]
    )


def _columns(table: Table, names: Iterable[str]) -> Select[*tuple[Any, ...]]:
    return select(*(table.c[name] for name in names))


def row_of(
    connection: Connection, table: Table, names: Iterable[str], key: tuple[Any, ...]
) -> dict[str, Any] | None:
    """Return some columns of the row with a primary key, None if there is no such row."""
    this = [column == value for column, value in zip(table.primary_key, key, strict=True)]
    row: Row[*tuple[Any, ...]] | None = connection.execute(
        _columns(table, names).where(*this)
    ).first()
    return None if row is None else shown(table, row._mapping)


def shown(table: Table, row: RowMapping) -> dict[str, Any]:
    """Return columns of a row as people read them."""
    return {name: _shown(table.c[name], value) for name, value in row.items()}


def _shown(column: Column[Any], value: Any) -> Any:
    timed = isinstance(column.type, InstantType) and value is not None
    return iso_time(value) if timed else value
