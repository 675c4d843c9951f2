"""Names that a database can hold, checked by PostgreSQL's rules on both kinds of database.

https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS and
https://www.postgresql.org/docs/current/ddl-system-columns.html
"""

from collections.abc import Iterator

from verdict.model.aggregate import InvalidApplicationError
from verdict.read_side.projections.projection import Projection

LONGEST_BYTES = 63
MOST_COLUMNS = 400  # of a table: each takes up to 18 bytes of a page of 8 KiB
SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})


def check_identifiers(projection: Projection) -> None:
    """Return if each table, index, view and column of a projection can be created."""
    for what, name in _names(projection):
        if (length := len(name.encode())) > LONGEST_BYTES:
            raise InvalidApplicationError(
                f"projection {projection.name!r} has the {what} {name!r} of {length} bytes, and a "
                f"name in PostgreSQL has at most {LONGEST_BYTES}: take a shorter one"
            )
    for table in projection.table.metadata.tables.values():
        if taken := SYSTEM_COLUMNS.intersection(table.columns.keys()):
            raise InvalidApplicationError(
                f"projection {projection.name!r} has the column {min(taken)!r} in {table.name}: "
                "each table in PostgreSQL has a system column of that name, so take another one"
            )
        if len(table.columns) > MOST_COLUMNS:
            raise InvalidApplicationError(
                f"projection {projection.name!r} has {len(table.columns)} columns in {table.name}, "
                f"and a table has at most {MOST_COLUMNS}: group fields into messages, or declare "
                "the aggregate with state_view=False"
            )


def _names(projection: Projection) -> Iterator[tuple[str, str]]:
    for view in projection.views:
        yield "view", view
    for table in projection.table.metadata.tables.values():
        yield "table", table.name
        yield from (("column", str(column.name)) for column in table.columns)
        yield from (("index", str(index.name)) for index in table.indexes if index.name)
