"""Statements whose form differs between databases; each one for any number of rows."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import to_json
from sqlalchemy import (
    JSON,
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Insert,
    MetaData,
    Table,
    Text,
    cast,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import visitors
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from verdict.adapters.sql.bulk import (
    BulkRows,
    Conversions,
    Values,
    conversions_for,
    converted,
    copy_into,
    copy_pays,
    rows_of,
)

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

    Upsert = sqlite.Insert | postgresql.Insert

Computed = tuple[tuple[str, ColumnElement[Any]], ...]
"""Columns whose values the database works out, with parameters from the row."""
COUNTED = {"preserve_rowcount": True}  # else the number of rows is -1


class Insertion(NamedTuple):
    """An INSERT for any number of rows with these names; what it compiles to is kept.

    Rows that exist are an error, or else their columns in `overwritten` change, if there are any.
    """

    table: Table
    names: tuple[str, ...]
    overwritten: tuple[str, ...] | None = None
    computed: Computed = ()


def is_any_of(
    connection: Connection, column: Column[str], keys: Iterable[str]
) -> ColumnElement[bool]:
    """Return the condition that `column` is one of `keys`.

    The keys are one JSON array: SQLite takes at most 32,766 parameters, and each number of
    parameters would be a new statement.
    """
    array = to_json([*keys]).decode()
    if connection.dialect.name == "postgresql":
        texts = func.json_array_elements_text(cast(literal(array, Text), JSON))
        return column.in_(select(texts.column_valued("one_of_the_keys")))
    return column.in_(select(func.json_each(array).table_valued("value").c.value))


def exclude_others(connection: Connection, what: str) -> None:
    """Wait until no other transaction does `what`; on SQLite there is only one writer."""
    if connection.dialect.name == "postgresql":
        key = func.hashtextextended(f"verdict {what}", 0)
        connection.execute(select(func.pg_advisory_xact_lock(key)))


def wait_for_locks(connection: Connection, seconds: float) -> None:
    """Let statements of this transaction give up after waiting so long for a lock.

    On SQLite no statement of a begun transaction waits.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.set_config("lock_timeout", f"{seconds * 1000:.0f}ms", True)))


def add_new(connection: Connection, table: Table, rows: BulkRows | Sequence[Values]) -> int:
    """Insert the rows whose primary key is new; return their number."""
    given = rows_of(rows)
    if copy_pays(connection, given):  # mostly all are new
        with suppress(IntegrityError), connection.begin_nested():
            copy_into(connection, table, given)
            return len(given.values)
    return _insert(connection, Insertion(table, tuple(given.names), ()), given)


def append(connection: Connection, table: Table, rows: BulkRows | Sequence[Values]) -> None:
    """Insert the rows; an IntegrityError says that one exists."""
    given = rows_of(rows)
    if copy_pays(connection, given):
        copy_into(connection, table, given)
    else:
        _insert(connection, Insertion(table, tuple(given.names)), given)


def put(
    connection: Connection,
    table: Table,
    rows: BulkRows | Sequence[Values],
    computed: Computed = (),
    but: Collection[str] = (),
) -> None:
    """Insert the rows, or overwrite those with the same primary key, except columns in `but`."""
    given = rows_of(rows)
    kept = {*table.primary_key.columns.keys(), *but}
    written = {*given.names, *(name for name, _ in computed)} - kept
    overwritten = tuple(one.name for one in table.columns if one.name in written)
    _insert(connection, Insertion(table, tuple(given.names), overwritten, computed), given)


def _insert(connection: Connection, insertion: Insertion, rows: BulkRows) -> int:
    """Insert the rows; return how many were written."""
    if not rows.values:
        return 0
    if copy_pays(connection, rows):
        staged, insert = _from_staged(insertion)
        connection.execute(CreateTable(staged, if_not_exists=True))
        copy_into(connection, staged, rows)
        written = connection.execute(insert, execution_options=COUNTED).rowcount
        connection.execute(text(f"TRUNCATE {staged.name}"))
        return written
    # prepared by columns, which is faster than row by row as `Connection.execute` does
    statement, names, conversions = _from_parameters(insertion, connection.dialect)
    values: Any = converted(rows.in_order(names), conversions)
    if not connection.dialect.positional:
        values = BulkRows(names, values).named()
    return connection.exec_driver_sql(statement, values, COUNTED).rowcount


@lru_cache(maxsize=256)
def _from_parameters(
    insertion: Insertion, dialect: Dialect
) -> tuple[str, Sequence[str], Conversions]:
    """Return the statement, the names of its parameters, and how their values are converted."""
    statement = _empty(insertion.table, dialect.name).values(dict(insertion.computed))
    compiled = _on_conflict(statement, insertion).compile(
        dialect=dialect, column_keys=[*insertion.names]
    )
    assert isinstance(compiled, SQLCompiler)
    names = compiled.positiontup or [*compiled.binds]
    kinds = [compiled.binds[name].type for name in names]
    return str(compiled), names, conversions_for(dialect, kinds)


@lru_cache(maxsize=256)
def _from_staged(insertion: Insertion) -> tuple[Table, Insert]:
    """Return the temporary table for the rows, and the INSERT of all that is in it."""
    table, names, _, computed = insertion
    staged = _staged(insertion)
    given = [column.key for column in table.columns if column.key in names]
    values: list[Any] = [staged.c[name] for name in given]
    values += [visitors.replacement_traverse(one, {}, _from_row(staged)) for _, one in computed]
    statement = _empty(table, "postgresql")
    columns = [*given, *(name for name, _ in computed)]
    return staged, _on_conflict(statement.from_select(columns, select(*values)), insertion)


def _staged(insertion: Insertion) -> Table:
    table, names, _, computed = insertion
    kinds: dict[str, TypeEngine[Any]] = {
        part.key: part.type
        for _, expression in computed
        for part in visitors.iterate(expression)
        if isinstance(part, BindParameter)
    }
    kinds |= {column.key: column.type for column in table.columns}
    form = f"{table.name} {[(name, str(kinds[name])) for name in names]}"
    return Table(
        f"copied_{hashlib.sha256(form.encode()).hexdigest()[:16]}",
        MetaData(),
        *(Column(name, kinds[name]) for name in names),
        prefixes=["TEMPORARY"],
        postgresql_on_commit="DELETE ROWS",
    )


def _from_row(staged: Table) -> Callable[..., Any]:
    """Return a function that replaces a parameter by a column of `staged`."""

    def replace(part: Any, **_: Any) -> Any:
        if isinstance(part, BindParameter) and part.key in staged.c:
            return staged.c[part.key]
        return None

    return replace


def _empty(table: Table, dialect: str) -> "Upsert":
    # only the one that is used: the other takes long to import
    insert: Upsert = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    return insert


def _on_conflict(insert: "Upsert", insertion: Insertion) -> Insert:
    if insertion.overwritten is None:
        return insert
    if not insertion.overwritten:
        return insert.on_conflict_do_nothing()
    overwritten = {name: insert.excluded[name] for name in insertion.overwritten}
    key = [*insertion.table.primary_key]
    return insert.on_conflict_do_update(index_elements=key, set_=overwritten)
