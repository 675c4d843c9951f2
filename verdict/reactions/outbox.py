"""An outbox: messages that an external transport sends, recorded once and sent at least once.

A batch is recorded once, with all of its messages or not at all. Any number of processes then send
its messages. A lease keeps a message to one process at a time. A process that dies after the
transport accepted a message and before that is recorded leaves a message that is sent again, with
the same id, when the lease has expired.
"""

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID, uuid4, uuid5

from pydantic_core import from_json, to_json
from sqlalchemy import ColumnElement, Engine, func, or_, select, update

from verdict.adapters.sql.statements import add_new
from verdict.adapters.sql.time_text import wall_clock
from verdict.model.nul import spell_out
from verdict.read_side.schema.database import create_read_side, failing_in_words, opened
from verdict.read_side.tables.outbox import batches, messages
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings

DUE, SENT, FAILED = "DUE", "SENT", "FAILED"
NAMESPACE = UUID("4fdc370b-0d68-5617-9b23-6258bd127fe6")
CHUNK_ROWS = 5_000
ERROR_CHARS = 2_000
FIRST = ""  # a key has at least one character
LEASE_S = 900


class DeliveryRefusedError(Exception):
    """The transport will never accept this message; the text says why."""


class DeliveryDeferredError(Exception):
    """The transport did not accept a message now, or may have; the text says why."""


class OutboxMessage(NamedTuple):
    """A message as it was recorded; `key` names it in its batch, `id` is the same at each try."""

    key: str
    id: str
    content: Mapping[str, Any]


@dataclass(slots=True)
class DeliveryCounts:
    """What became of the messages of one call of `Outbox.send`."""

    sent: int = 0
    failed: int = 0
    put_back: int = 0


class Outbox:
    """The messages of one kind.

    Args:
        engine: The database, with the tables of `create_read_side`.
        name: The kind of messages.
        deployment: Part of each id, so that two deployments never share one.
        lease_s: How long a process keeps a message from others: longer than sending one takes.
        worker: Names this process in the view `outbox`; default: host and process id.
        clock: Epoch milliseconds. The clocks of all processes differ by much less than a lease.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        deployment: str,
        lease_s: int = LEASE_S,
        worker: str | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self._engine = engine
        self._name = name
        self._deployment = deployment
        self._lease_ms = lease_s * 1000
        process = worker or f"{socket.gethostname()}:{os.getpid()}"
        self._worker = f"{process} {uuid4().hex[:8]}"  # unique, whatever name was given
        self._clock = clock

    def is_recorded(self, batch: str) -> bool:
        """Tell whether a batch is recorded; nothing is added to it any more."""
        found = select(batches).where(batches.c.outbox == self._name, batches.c.batch == batch)
        with self._engine.connect() as connection:
            return connection.execute(found).first() is not None

    def record(self, batch: str, contents: Iterable[tuple[str, Mapping[str, Any]]]) -> int:
        """Record a batch unless it is recorded; return how many messages are new.

        `contents` yields the key and the content (JSON) of each message; each key occurs once. If
        several processes call this at the same time, one records and the others wait for it.
        """
        mark = {"outbox": self._name, "batch": batch, "recorded_at": self._clock()}
        with self._engine.begin() as connection:
            if not add_new(connection, batches, [mark]):
                return 0
            rows = (self._row(batch, key, content) for key, content in contents)
            new = 0
            while chunk := [*islice(rows, CHUNK_ROWS)]:
                new += add_new(connection, messages, chunk)
            return new

    def retry_failed(self, batch: str) -> int:
        """Make the messages that were refused due again; return how many these are."""
        failed = (*self._of(batch), messages.c.status == FAILED)
        again = {"status": DUE, "worker": None, "lease_until": None}
        with self._engine.begin() as connection:
            return connection.execute(update(messages).where(*failed).values(again)).rowcount

    def count_due(self, batch: str) -> int:
        """Return how many messages of a batch are neither sent nor failed."""
        left = select(func.count()).where(*self._of(batch), messages.c.status == DUE)
        with self._engine.connect() as connection:
            return int(connection.execute(left).scalar_one())

    def send(self, batch: str, deliver: Callable[[OutboxMessage], None]) -> DeliveryCounts:
        """Try each message of a batch that is due and that no other process has, once.

        `deliver` returns when the transport has accepted the message, else it raises
        `DeliveryRefusedError` or `DeliveryDeferredError`. Any other error ends the call, and the
        message stays due.
        """
        counts = DeliveryCounts()
        last = FIRST
        while (message := self.claim(batch, last)) is not None:
            last = message.key
            try:
                deliver(message)
            except DeliveryRefusedError as error:
                self.record_failed(batch, last, str(error))
                counts.failed += 1
            except Exception as error:
                self.put_back(batch, last, str(error))
                if not isinstance(error, DeliveryDeferredError):
                    raise
                counts.put_back += 1
            else:
                self.record_sent(batch, last)
                counts.sent += 1
        return counts

    def claim(self, batch: str, last: str = FIRST) -> OutboxMessage | None:
        """Lease the first message that is due and that no other process has, after the key `last`.

        Most callers want `send`, which claims, delivers and records.
        """
        now = self._clock()
        lease = messages.c.lease_until
        first = (
            select(messages.c.key, messages.c.id, messages.c.content)
            .where(*self._of(batch), messages.c.key > last, messages.c.status == DUE)
            .where(or_(lease.is_(None), lease <= now))
            .order_by(messages.c.key)
            .limit(1)
            .with_for_update(skip_locked=True)  # SQLite has one writer at a time
        )
        with self._engine.begin() as connection:
            row = connection.execute(first).first()
            if row is None:
                return None
            leased = {"worker": self._worker, "lease_until": now + self._lease_ms}
            this = (*self._of(batch), messages.c.key == row.key)
            connection.execute(update(messages).where(*this).values(leased))
        return OutboxMessage(row.key, row.id, from_json(row.content))

    def record_sent(self, batch: str, key: str) -> None:
        """Record that the transport has accepted a message, even if the lease was lost."""
        now = self._clock()
        self._update(batch, key, {"status": SENT, "sent_at": now, "error": None})

    def record_failed(self, batch: str, key: str, error: str) -> None:
        """Record that a message is refused, unless another process has it now."""
        failed = {"status": FAILED, "error": _stored(error)}
        self._update(batch, key, failed, messages.c.worker == self._worker)

    def put_back(self, batch: str, key: str, error: str) -> None:
        """Leave a message to the next call of `send`, unless another process has it now."""
        free = {"worker": None, "error": _stored(error)}
        self._update(batch, key, free, messages.c.worker == self._worker)

    def _update(
        self, batch: str, key: str, values: dict[str, Any], *still: ColumnElement[bool]
    ) -> None:
        row = (*self._of(batch), messages.c.key == key, messages.c.status == DUE, *still)
        with self._engine.begin() as connection:
            connection.execute(update(messages).where(*row).values({"lease_until": None, **values}))

    def _of(self, batch: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return messages.c.outbox == self._name, messages.c.batch == batch

    def _row(self, batch: str, key: str, content: Mapping[str, Any]) -> dict[str, Any]:
        named = "\0".join((self._deployment, self._name, batch, key))
        return {
            "outbox": self._name,
            "batch": batch,
            "key": key,
            "id": str(uuid5(NAMESPACE, named)),
            "content": to_json(content).decode(),
            "status": DUE,
        }


@contextmanager
def open_outbox(
    settings: Settings, name: str, lease_s: int = LEASE_S, worker: str | None = None
) -> Iterator[Outbox]:
    """Give an outbox on the database of a deployment, which runs or not; see `Outbox`.

    Raises:
        VerdictError: The database cannot be used.
        UnreachableError: The database does not answer.
    """
    with opened(database_url(settings)) as engine, failing_in_words(engine):
        create_read_side(engine, (), settings.roles)  # it may be called before the first start
        yield Outbox(engine, name, settings.deployment, lease_s, worker)


def _stored(error: str) -> str:
    return spell_out(error)[:ERROR_CHARS]
