"""The table of dead letters as a queue: the letters that wait, by their due times."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, func, select, update
from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.adapters.sql.statements import is_any_of
from verdict.errors import UnreachableError
from verdict.model.nul import spell_out
from verdict.reactions.dead_letters.retry_rules import headers_from_json
from verdict.read_side.apply.applier import database_failed
from verdict.read_side.tables.dead_letters import table
from verdict.read_side.tables.row_states import PARKED, WAITING
from verdict.wire.dead_letter_record import (
    RETRY_ATTEMPT,
    RETRY_ATTEMPTS,
    RETRY_ID,
    RETRY_TOPIC,
    Pairs,
)

BATCH_BYTES = 16 * 2**20
PLACE = (table.c.topic, table.c.partition, table.c.offset)


class DueRetry(NamedTuple):
    """What goes out for a letter."""

    id: str
    topic: str
    key: bytes | None
    value: bytes | None
    headers: Pairs


def due_retries(connection: Connection, now: int, most: int) -> list[DueRetry]:
    """Return letters that are due, in the order of their places; of too many the longest due."""
    size = func.coalesce(func.length(table.c.bytes), 0)
    due = (
        select(table.c.id, size)
        .where(table.c.status == WAITING, table.c.due_at <= now)
        .order_by(table.c.due_at, *PLACE)
        .limit(most)
    )
    room, chosen = BATCH_BYTES, list[str]()
    for identity, size_bytes in connection.execute(due):
        if chosen and size_bytes > room:
            break
        room -= size_bytes
        chosen.append(identity)
    if not chosen:
        return []
    rows = connection.execute(
        select(table)
        .where(is_any_of(connection, table.c.id, chosen))
        .order_by(*PLACE)  # letters of one key are in one partition, in the order of what happened
    )
    return [_retry(row) for row in rows]


def remove(connection: Connection, retries: Sequence[DueRetry]) -> None:
    """Remove letters that are sent; one that an operator has parked meanwhile stays."""
    sent = is_any_of(connection, table.c.id, [retry.id for retry in retries])
    connection.execute(delete(table).where(sent, table.c.status == WAITING))


def park(connection: Connection, retry: DueRetry, error: str) -> None:
    """Let a letter wait for an operator instead."""
    changed = {"status": PARKED, "due_at": None, "error": spell_out(error)}
    connection.execute(update(table).where(table.c.id == retry.id).values(changed))


def first_due(connection: Connection) -> int | None:
    """Return when the next letter is due, in epoch milliseconds; None when none waits."""
    first = select(func.min(table.c.due_at)).where(table.c.status == WAITING)
    found: int | None = connection.execute(first).scalar()
    return found


@contextmanager
def translating_db_errors() -> Iterator[None]:
    """Raise UnreachableError if the database fails."""
    try:
        yield
    except DBAPIError as error:
        if not database_failed(error):
            raise
        raise UnreachableError(f"the database failed: {one_line_error(error.orig)}") from error


def _retry(row: Row[Any]) -> DueRetry:
    stored = row._mapping
    ours = {
        RETRY_ATTEMPT: stored["attempt"] + 1,
        RETRY_ATTEMPTS: stored["attempts"],
        RETRY_TOPIC: stored["retry_topic"],
        RETRY_ID: stored["id"],
    }
    headers = (
        *headers_from_json(stored["headers"]),
        *((name, str(value).encode()) for name, value in ours.items()),
    )
    return DueRetry(stored["id"], stored["retry_topic"], stored["key"], stored["bytes"], headers)
