"""Creates the roles on PostgreSQL that can select from views and do nothing else.

They have no login of their own. A login becomes a member: `GRANT verdict_reader TO ada`.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.session import VIEWS
from verdict.read_side.schema.layout import views_schema
from verdict.settings.database_address import Roles


def grant_readers(connection: Connection, roles: Roles, views: Sequence[str]) -> str | None:
    """Create missing roles, become their member, and let them select from `views`; not on SQLite.

    A view that is created again needs it again. If this login may not do it, the statements that an
    administrator has to run are returned.
    """
    if views_schema(connection) is None:
        return None
    missing = [_let_in(connection, role, views, closed) for role, closed in roles.each()]
    return "; ".join(said for said in missing if said) or None


def _let_in(
    connection: Connection, role: str, views: Sequence[str], closed: Collection[str]
) -> str | None:
    quote = connection.dialect.identifier_preparer.quote
    user = str(connection.scalar(text("SELECT current_user")))
    create, join = f"CREATE ROLE {quote(role)} NOLOGIN", f"GRANT {quote(role)} TO {quote(user)}"
    look = f"GRANT USAGE ON SCHEMA {VIEWS} TO {quote(role)}"
    there = text("SELECT count(*) FROM pg_roles WHERE rolname = :role")
    if not connection.scalar(there, {"role": role}) and not _done(connection, create):
        return f"{create}; {join}"
    if not _is_member(connection, role) and not _done(connection, join):
        return join
    for view in views:
        change = "REVOKE ALL ON {} FROM {}" if view in closed else "GRANT SELECT ON {} TO {}"
        connection.execute(text(change.format(f"{VIEWS}.{quote(view)}", quote(role))))
    sees = text(f"SELECT has_schema_privilege(:role, '{VIEWS}', 'USAGE')")
    if not connection.scalar(sees, {"role": role}) and not _done(connection, look):
        return look
    return None


def _is_member(connection: Connection, role: str) -> bool:
    """Tell whether this user may SET the role, which membership alone does not allow."""
    quoted = connection.dialect.identifier_preparer.quote(role)
    return _done(connection, f"SET LOCAL ROLE {quoted}; RESET ROLE")


def _done(connection: Connection, statement: str) -> bool:
    """Tell whether `statement` succeeds; if not, the transaction is as it was before."""
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(statement)
    except DBAPIError:
        if connection.invalidated:
            raise
        return False
    return True
