"""Dead letters that wait for a retry or are parked, and what operators do about them.

Who did what and why is kept. The running service sends what is replayed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, Engine, Row, delete, func, insert, select, update

from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import VerdictError
from verdict.model.message import Fields, iso_time
from verdict.operations.repair.operator import NothingWaitsError, OperatorIdentity
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables.dead_letters import intervention, table
from verdict.read_side.tables.row_states import PARKED, WAITING
from verdict.wire.catalog import catalog_of
from verdict.wire.codec import DecodeError
from verdict.wire.json import readable_command
from verdict.wire.topics import Topics

StoredLetter = Row[Any]
"""A row of the table; times are epoch milliseconds."""

PLACE = (table.c.topic, table.c.partition, table.c.offset)


class DeadLetters:
    """Dead letters by their id, a UUID."""

    def __init__(
        self, engine: Engine, topics: Topics, clock: Callable[[], int] = wall_clock
    ) -> None:
        self._engine = engine
        self._topics = topics
        self._clock = clock

    def listed(self, waiting: bool = False) -> Iterator[Fields]:
        """Yield the parked letters, and the waiting ones if wanted, in the order of Kafka."""
        wanted = table.c.status.in_([PARKED, *([WAITING] if waiting else [])])
        asked = select(table).where(wanted).order_by(table.c.received_at, *PLACE)
        with snapshot(self._engine) as connection:
            yield from (_facts(row) for row in connection.execute(asked))

    def shown(self, address: str) -> Fields:
        """Return a letter with its bytes, and what was done to it.

        A command is shown as the JSON that may be sent in its place.
        """
        done = intervention.c
        asked = select(intervention).where(done.dead_letter_id == address).order_by(done.number)
        with snapshot(self._engine) as connection:
            found = letter(connection, address)
            made = [dict(row._mapping) for row in connection.execute(asked)]
        return _facts(found) | {
            "headers": from_json(found.headers),
            "key": _readable(found.key),
            "payload": self._payload(found),
            "interventions": [one | {"at": iso_time(one["at"])} for one in made],
        }

    def edit(self, address: str, document: bytes, by: OperatorIdentity) -> str:
        """Give a parked letter other bytes; it stays parked."""
        self._intervene(address, "edit", by, lambda _: {"bytes": document})
        return f"{address} is edited: `verdict dead-letters replay {address}` sends it"

    def replay(self, address: str, by: OperatorIdentity) -> str:
        """Let a parked letter be tried again at once, once more than it had been."""

        def due(found: StoredLetter) -> dict[str, object]:
            attempts = max(found.attempts, found.attempt + 1)
            return {"status": WAITING, "due_at": self._clock(), "attempts": attempts}

        found = self._intervene(address, "replay", by, due)
        return (
            f"{address} goes back to {found.retry_topic} at once, or when `verdict up` runs again"
        )

    def park(self, address: str, by: OperatorIdentity) -> str:
        """Stop the retries of a letter that waits."""
        parked = {"status": PARKED, "due_at": None}
        self._intervene(address, "park", by, lambda _: parked, WAITING)
        return f"{address} is parked: `verdict dead-letters replay {address}` sends it"

    def skip(self, address: str, by: OperatorIdentity) -> str:
        """Remove a parked letter from the table; the topic of dead letters keeps it."""
        self._intervene(address, "evict", by, None)
        return f"{address} is skipped"

    def _intervene(
        self,
        id: str,
        kind: str,
        by: OperatorIdentity,
        change: Callable[[StoredLetter], Mapping[str, object]] | None,
        status: str = PARKED,
    ) -> StoredLetter:
        """Change a letter of this status, or remove it; record who did that and why."""
        this_one = table.c.id == id
        with self._engine.begin() as connection:
            connection.execute(select(table.c.id).where(this_one).with_for_update()).first()
            found = letter(connection, id)
            _check_status(found, status)
            before = select(func.count()).where(intervention.c.dead_letter_id == id)
            made = {
                "dead_letter_id": id,
                "number": connection.execute(before).scalar_one() + 1,
                "kind": kind,
                "at": self._clock(),
                "sha256": sha256(found.bytes or b"").hexdigest(),
            }
            connection.execute(insert(intervention).values(made | by._asdict()))
            if change is None:
                connection.execute(delete(table).where(this_one))
            else:
                values = {**change(found), **by._asdict()}
                connection.execute(update(table).where(this_one).values(values))
        return found

    def _payload(self, found: StoredLetter) -> object:
        if found.retry_topic in self._topics.every_commands():
            with suppress(DecodeError):
                aggregate_type = self._topics.aggregate_of(found.retry_topic)
                context = catalog_of(self._topics.application)[aggregate_type]
                return readable_command(context, found.bytes or b"")
        return _readable(found.bytes)


def letter(connection: Connection, id: str) -> StoredLetter:
    """Return a letter, whether it waits or is parked."""
    row = connection.execute(select(table).where(table.c.id == id)).first()
    if row is None:
        raise NothingWaitsError(id, "`verdict dead-letters list` shows what is parked")
    return row


def _check_status(found: StoredLetter, status: str) -> None:
    if found.status == status:
        return
    if status == WAITING:
        raise VerdictError(f"dead letter {found.id!r} is parked already: `replay` sends it again")
    due = "" if found.due_at is None else f", due at {iso_time(found.due_at)}"
    raise VerdictError(
        f"dead letter {found.id!r} is not parked, it waits for its next try{due}: wait until it "
        "was sent or is parked"
    )


def _facts(found: StoredLetter) -> Fields:
    return {
        "id": found.id,
        "kind": "letter",
        "since": iso_time(found.received_at),
        "what": f"dead letter for {found.retry_topic}, tried again {found.attempt} times",
        "status": found.status,
        "error": found.error,
        "topic": found.topic,
        "partition": found.partition,
        "offset": found.offset,
        "retry_topic": found.retry_topic,
        "attempt": found.attempt,
        "attempts": found.attempts,
        "bytes": None if found.bytes is None else len(found.bytes),
    }


def _readable(value: bytes | None) -> object:
    """Return bytes as text or, if they are none, as a source would write them."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return repr(value)[2:-1]
