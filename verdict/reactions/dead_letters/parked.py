"""Parked letters, for people: look, edit, replay, evict; who did what and reason is kept.

All of it in the transaction of the given connection; commit it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import sha256

from sqlalchemy import Connection, delete, func, insert, select, update

from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.message import iso_time
from verdict.reactions.dead_letters.headers import from_json
from verdict.read_side.tables.dead_letters import intervention, table
from verdict.read_side.tables.states import PARKED, WAITING
from verdict.wire.dead_letter_record import Pairs


class NoLetterError(VerdictError):
    """There is no such letter, or not any more."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"no letter {id!r} is kept: it was sent or skipped, `verdict dead-letters list` shows "
            "what is parked"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLetter:
    """One row; times are epoch milliseconds, `who` and `why` are of the last intervention.

    `bytes` is what goes back to `retry_topic`, under `key` and with `headers`; `topic`, `partition`
    and `offset` are its place on `dead-letters`.
    """

    id: str
    topic: str
    partition: int
    offset: int
    attempt: int
    attempts: int
    retry_topic: str
    due_at: int | None
    status: str
    error: str | None
    key: bytes | None
    bytes: bytes | None
    headers: Pairs
    received_at: int
    operator: str | None
    reason: str | None


COLUMNS = [table.c[field.name] for field in fields(StoredLetter)]


def parked(connection: Connection, *others: str) -> list[StoredLetter]:
    """Return the parked letters, and those with other statuses, as Kafka got them."""
    rows = connection.execute(
        select(*COLUMNS)
        .where(table.c.status.in_([PARKED, *others]))
        .order_by(table.c.received_at, table.c.topic, table.c.partition, table.c.offset)
    )
    return [_letter(row._asdict()) for row in rows]


def letter(connection: Connection, id: str) -> StoredLetter:
    """Return a letter, whether it waits or is parked.

    Raises:
        NoLetterError: There is none.
    """
    row = connection.execute(select(*COLUMNS).where(table.c.id == id)).first()
    if row is None:
        raise NoLetterError(id)
    return _letter(row._asdict())


def edit(
    connection: Connection,
    id: str,
    value: bytes,
    operator: str,
    reason: str | None,
    clock: Callable[[], int] = wall_clock,
) -> None:
    """Give a parked letter other bytes; it stays parked.

    Raises:
        VerdictError: There is no such letter, or it is not parked; or who is missing.
    """
    before = _intervene(connection, id, "edit", (operator, reason), clock())
    _change(connection, before, bytes=value, operator=operator, reason=reason)


def replay(
    connection: Connection,
    id: str,
    operator: str,
    reason: str | None,
    clock: Callable[[], int] = wall_clock,
) -> None:
    """Let a parked letter be tried again at once, once more than it had been.

    Raises:
        VerdictError: As `edit` does.
    """
    now = clock()
    before = _intervene(connection, id, "replay", (operator, reason), now)
    attempts = max(before.attempts, before.attempt + 1)
    _change(
        connection,
        before,
        status=WAITING,
        due_at=now,
        attempts=attempts,
        operator=operator,
        reason=reason,
    )


def park(
    connection: Connection,
    id: str,
    operator: str,
    reason: str | None,
    clock: Callable[[], int] = wall_clock,
) -> None:
    """Stop the retries of a letter that waits for its next one.

    Raises:
        NoLetterError: There is no such letter.
        VerdictError: It is parked already; or who is missing.
    """
    before = _intervene(connection, id, "park", (operator, reason), clock(), WAITING)
    _change(connection, before, status=PARKED, due_at=None, operator=operator, reason=reason)


def evict(
    connection: Connection,
    id: str,
    operator: str,
    reason: str | None,
    clock: Callable[[], int] = wall_clock,
) -> None:
    """Remove a parked letter; operator, reason, when and the SHA-256 of its bytes are kept.

    Raises:
        VerdictError: As `edit` does.
    """
    before = _intervene(connection, id, "evict", (operator, reason), clock())
    connection.execute(delete(table).where(table.c.id == before.id))


def _intervene(
    connection: Connection,
    id: str,
    kind: str,
    by: tuple[str, str | None],
    now: int,
    status: str = PARKED,
) -> StoredLetter:
    """Write down who does what and why; return the letter as it is before, locked."""
    operator, reason = by
    if not operator.strip():
        raise VerdictError(f"letter {id!r} is left as it is: say who you are")
    connection.execute(select(table.c.id).where(table.c.id == id).with_for_update()).first()
    before = letter(connection, id)
    if before.status != status == WAITING:
        raise VerdictError(f"letter {id!r} is parked already: `replay` sends it again")
    if before.status != status:
        due = "" if before.due_at is None else f", due at {iso_time(before.due_at)}"
        raise VerdictError(
            f"letter {id!r} is not parked, it waits for its next try{due}: wait until it was sent "
            "or is parked"
        )
    before_this = select(func.count()).where(intervention.c.dead_letter_id == id)
    connection.execute(
        insert(intervention).values(
            dead_letter_id=id,
            number=connection.execute(before_this).scalar_one() + 1,
            kind=kind,
            operator=operator,
            reason=reason,
            at=now,
            sha256=sha256(before.bytes or b"").hexdigest(),
        )
    )
    return before


def _change(connection: Connection, before: StoredLetter, **values: object) -> None:
    connection.execute(update(table).where(table.c.id == before.id).values(values))


def _letter(row: dict[str, object]) -> StoredLetter:
    found = row | {"headers": from_json(str(row["headers"]))}
    for name in ("key", "bytes"):
        if (value := row[name]) is not None:
            found[name] = bytes(value)  # type: ignore[call-overload]
    return StoredLetter(**found)  # type: ignore[arg-type]
