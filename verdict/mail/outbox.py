"""The outbox: one row per client and ISO week, whoever comes first and however often.

It belongs to a processor and not to a read model: it is never rebuilt and never dropped, as it says
what has left the house.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import (
    Engine,
    func,
    select,
    update,
)

from verdict.database.statements import add_new
from verdict.mail.share import bucket_of
from verdict.mail.week import Week
from verdict.model.mailing import Receiver
from verdict.projection.mail_outbox import mails, weeks

DUE, SENT, FAILED = "DUE", "SENT", "FAILED"
NAMESPACE = UUID("4fdc370b-0d68-5617-9b23-6258bd127fe6")
HOST = "mail.verdict.invalid"  # nobody's, as RFC 2606 says; a worker's own would differ
CHUNK_ROWS = 5_000


def is_recorded(engine: Engine, week: Week) -> bool:
    """Tell whether a week's mails are in the outbox, which none comes to any more."""
    with engine.connect() as connection:
        found = connection.execute(select(weeks).where(weeks.c.week == str(week)))
        return found.first() is not None


def record(
    engine: Engine,
    week: Week,
    receivers: Iterable[Receiver],
    deployment: str,
    now: int,
    reserved_until: int,
) -> int:
    """Put a week's mails into the outbox, all of them or none; return how many are new.

    Whoever else does the same at the same time waits, and adds nothing then.

    Args:
        engine: Of the database.
        week: That is over.
        receivers: Who gets one, each client once.
        deployment: That mails are told apart by, where several use one mail server.
        now: Epoch milliseconds.
        reserved_until: From when on others than a client's own worker may send the mail.
    """
    with engine.begin() as connection:
        if not add_new(connection, weeks, [{"week": str(week), "recorded_at": now}]):
            return 0
        rows = (_row(week, one, deployment, reserved_until) for one in receivers)
        return sum(add_new(connection, mails, chunk) for chunk in _chunks(rows))


def message_id(deployment: str, week: Week, client: str) -> str:
    """Return the same Message-ID for the same mail, however often it is sent."""
    return f"<{uuid5(NAMESPACE, chr(0).join((deployment, str(week), client)))}@{HOST}>"


def make_due_again(engine: Engine, week: Week) -> int:
    """Let the mails that were refused for good be tried again; return how many those are."""
    failed = (mails.c.week == str(week)) & (mails.c.status == FAILED)
    with engine.begin() as connection:
        again = {"status": DUE, "worker": None, "lease_until": 0}
        return connection.execute(update(mails).where(failed).values(again)).rowcount


def due(engine: Engine, week: Week) -> int:
    """Return how many mails of a week are neither sent nor failed."""
    left = select(func.count()).where(mails.c.week == str(week), mails.c.status == DUE)
    with engine.connect() as connection:
        return int(connection.execute(left).scalar_one())


def _row(week: Week, receiver: Receiver, deployment: str, reserved_until: int) -> dict[str, Any]:
    return {
        "week": str(week),
        "client": receiver.client,
        "bucket": bucket_of(receiver.client),
        "number": receiver.number,
        "status": DUE,
        "message_id": message_id(deployment, week, receiver.client),
        "lease_until": reserved_until,
    }


def _chunks(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while chunk := [*islice(rows, CHUNK_ROWS)]:
        yield chunk
