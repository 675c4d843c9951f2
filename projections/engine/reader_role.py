"""The role of readers on PostgreSQL: it can select from the views and do nothing else.

Nobody logs in as it. Whoever shall read is made a member: `GRANT verdict_reader TO ada`.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from projections.engine.layout import VIEWS, views_schema

READER = "verdict_reader"


def let_in(connection: Connection, role: str, views: Sequence[str]) -> str | None:
    """Create `role` where it is missing, become a member of it, and let it select from `views`.

    A view that is dropped and created again needs it anew. Does nothing on SQLite.

    Args:
        connection: Inside a transaction, which goes on whatever comes of this.
        role: Of readers.
        views: That exist.

    Returns:
        None, or the SQL that an administrator has to run first, as this user may not.
    """
    if views_schema(connection) is None:
        return None
    quote = connection.dialect.identifier_preparer.quote
    user = str(connection.scalar(text("SELECT current_user")))
    create, join = f"CREATE ROLE {quote(role)} NOLOGIN", f"GRANT {quote(role)} TO {quote(user)}"
    look = f"GRANT USAGE ON SCHEMA {VIEWS} TO {quote(role)}"
    exists = connection.scalar(
        text("SELECT count(*) FROM pg_roles WHERE rolname = :role"), {"role": role}
    )
    if not exists and not _done(connection, create):
        return f"{create}; {join}"
    if not _is_member(connection, role) and not _done(connection, join):
        return join
    names = [f"{VIEWS}.{quote(view)}" for view in views]
    connection.execute(text(f"GRANT SELECT ON {', '.join(names)} TO {quote(role)}"))
    sees = text(f"SELECT has_schema_privilege(:role, '{VIEWS}', 'USAGE')")
    if not connection.scalar(sees, {"role": role}) and not _done(connection, look):
        return look
    return None


def _is_member(connection: Connection, role: str) -> bool:
    """Tell whether this user may take the role on, which membership alone does not say."""
    quoted = connection.dialect.identifier_preparer.quote(role)
    return _done(connection, f"SET LOCAL ROLE {quoted}; RESET ROLE")


def _done(connection: Connection, statement: str) -> bool:
    """Run `statement`; when it is refused, the transaction is as it was before."""
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(statement)
    except DBAPIError:
        if connection.invalidated:
            raise
        return False
    return True
