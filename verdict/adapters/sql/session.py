"""Our schemas on PostgreSQL, and the settings of its sessions.

Each transaction begins with its settings: behind a pool such as PgBouncer it may be on any
connection of the server. For the same reason no statement is prepared.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import URL

TABLES, VIEWS = "projections", "public"  # SQLite has no schemas

PATIENCE = {  # libpq waits for minutes, and hours once connected
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
SERVERS_PATIENCE = {  # a writer that vanished in a transaction keeps its successor out
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
}
PINNED = {"TimeZone": "UTC", "DateStyle": "ISO", "IntervalStyle": "postgres"}
ENCODING = "UTF8"


def options(url: "URL") -> dict[str, Any]:
    """Return psycopg's options; it gives up a server that is silent for half a minute."""
    patience = {name: value for name, value in PATIENCE.items() if name not in url.query}
    return {**patience, "client_encoding": ENCODING, "prepare_threshold": None}


def pinned(*schemas: str) -> str:
    """Return the SQL that a transaction begins with."""
    path = ", ".join(f'"{schema}"' for schema in schemas)
    settings = {**PINNED, **SERVERS_PATIENCE}
    said = [f"SET LOCAL {name} TO '{value}'" for name, value in settings.items()]
    return "; ".join([f"SET LOCAL search_path TO {path}", *said])
