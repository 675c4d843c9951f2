"""What every session on PostgreSQL is told, whatever the server, the role or a pool has set.

It is said at the beginning of each transaction, for that transaction: behind a pool such as
PgBouncer each one may be on another connection of the server, where what a session was told is
unknown, or somebody else's. For the same reason nothing is prepared for later.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import URL

PATIENCE = {  # libpq's own defaults are minutes, and hours once connected
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
SERVERS_PATIENCE = {  # with us: a writer that vanished in a transaction keeps its successor out
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
}
PINNED = {"TimeZone": "UTC", "DateStyle": "ISO", "IntervalStyle": "postgres"}
ENCODING = "UTF8"


def options(url: URL) -> dict[str, Any]:
    """Return what psycopg connects with; it gives up a server that is silent for half a minute."""
    patience = {name: value for name, value in PATIENCE.items() if name not in url.query}
    return {**patience, "client_encoding": ENCODING, "prepare_threshold": None}


def pinned(*schemas: str) -> str:
    """Return the SQL that a transaction begins with."""
    settings = {**PINNED, **SERVERS_PATIENCE}
    said = [f"SET LOCAL {name} TO '{value}'" for name, value in settings.items()]
    return "; ".join([f"SET LOCAL search_path TO {_names(schemas)}", *said])


def _names(schemas: Sequence[str]) -> str:
    return ", ".join(f'"{schema}"' for schema in schemas)
