"""Failures of the database that pass, as errors after which a component is started again."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.errors import UnreachableError
from verdict.read_side.apply.applier import database_failed
from verdict.read_side.schema.database import UNDEFINED_TABLE

UNDEFINED_SCHEMA = "3F000"


@contextmanager
def translating_db_errors() -> Iterator[None]:
    """Raise UnreachableError when the database fails inside, or has no tables yet.

    Tables are missing in a database that was just created again. On SQLite that is a failure of
    the database, on PostgreSQL one of the statement.
    """
    try:
        yield
    except DBAPIError as error:
        is_missing = getattr(error.orig, "sqlstate", None) in (UNDEFINED_TABLE, UNDEFINED_SCHEMA)
        if not (database_failed(error) or is_missing):
            raise
        raise UnreachableError(f"the database failed: {one_line_error(error.orig)}") from error
