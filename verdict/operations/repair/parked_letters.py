"""Dead letters: those that wait for a retry, and those that are parked for an operator."""

from collections.abc import Iterator
from contextlib import suppress

from pydantic_core import from_json
from sqlalchemy import Engine, select

from verdict.model.message import iso_time
from verdict.operations.repair.blocked import Facts
from verdict.operations.repair.operator_identity import OperatorIdentity
from verdict.reactions.dead_letters import parked
from verdict.reactions.dead_letters.headers import as_json
from verdict.reactions.dead_letters.parked import StoredLetter
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables.dead_letters import intervention
from verdict.read_side.tables.states import WAITING
from verdict.wire.catalog import catalog_of
from verdict.wire.codec import DecodeError
from verdict.wire.json import readable_command
from verdict.wire.topics import Topics


class ParkedLetters:
    """Dead letters by their id, a UUID."""

    def __init__(self, engine: Engine, topics: Topics) -> None:
        self._engine = engine
        self._topics = topics

    def listed(self, waiting: bool = False) -> Iterator[Facts]:
        """Yield the parked letters, and the waiting ones if wanted, as Kafka got them."""
        with snapshot(self._engine) as connection:
            yield from map(_facts, parked.parked(connection, *([WAITING] if waiting else [])))

    def shown(self, address: str) -> Facts:
        """Return a letter with its bytes, and what was done to it.

        A command is shown as the JSON that may be sent in its place; else text where it is text.

        Raises:
            NoLetterError: There is none.
        """
        done = intervention.c
        asked = select(intervention).where(done.dead_letter_id == address).order_by(done.number)
        with snapshot(self._engine) as connection:
            letter = parked.letter(connection, address)
            interventions = [dict(row._mapping) for row in connection.execute(asked)]
        return _facts(letter) | {
            "headers": from_json(as_json(letter.headers)),
            "key": _readable(letter.key),
            "payload": self._payload(letter),
            "interventions": [one | {"at": iso_time(one["at"])} for one in interventions],
        }

    def _payload(self, letter: StoredLetter) -> object:
        if letter.retry_topic in self._topics.every_commands():
            with suppress(DecodeError):
                of = catalog_of(self._topics.application)
                context = of[self._topics.aggregate_of(letter.retry_topic)]
                return readable_command(context, letter.bytes or b"")
        return _readable(letter.bytes)

    def edit(self, address: str, document: bytes, by: OperatorIdentity) -> str:
        """Give a letter other bytes; it stays parked.

        Raises:
            VerdictError: There is none.
        """
        with self._engine.begin() as connection:
            parked.edit(connection, address, document, *by)
        return f"{address} is edited: `verdict dead-letters replay {address}` sends it"

    def replay(self, address: str, by: OperatorIdentity) -> str:
        """Let a letter be sent again; the running service does that.

        Raises:
            VerdictError: There is none.
        """
        with self._engine.begin() as connection:
            parked.replay(connection, address, *by)
            topic = parked.letter(connection, address).retry_topic
        return f"{address} goes back to {topic} at once, or when `verdict up` runs again"

    def park(self, address: str, by: OperatorIdentity) -> str:
        """Stop the retries of a letter.

        Raises:
            VerdictError: There is none, or it is parked already.
        """
        with self._engine.begin() as connection:
            parked.park(connection, address, *by)
        return f"{address} is parked: `verdict dead-letters replay {address}` sends it"

    def skip(self, address: str, by: OperatorIdentity) -> str:
        """Give a letter up: it leaves the table; the topic of dead letters keeps it.

        Raises:
            VerdictError: There is none.
        """
        with self._engine.begin() as connection:
            parked.evict(connection, address, *by)
        return f"{address} is skipped"


def _facts(letter: StoredLetter) -> Facts:
    return {
        "id": letter.id,
        "kind": "letter",
        "since": iso_time(letter.received_at),
        "what": f"letter for {letter.retry_topic}, tried again {letter.attempt} times",
        "status": letter.status,
        "error": letter.error,
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "retry_topic": letter.retry_topic,
        "attempt": letter.attempt,
        "attempts": letter.attempts,
        "bytes": None if letter.bytes is None else len(letter.bytes),
    }


def _readable(value: bytes | None) -> object:
    """Return bytes as text, or as they are written in a source, if they are no text."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return repr(value)[2:-1]
