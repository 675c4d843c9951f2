"""Who sends which mail: one worker at a time, and another when that one has died.

A mail that is due is leased to one process, or to nobody. Until `lease_until` only that process may
send it, or, while it is nobody's, the worker in whose share it is; afterwards anyone may.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Engine, or_, select, update

from verdict.mail.outbox import DUE, FAILED, SENT
from verdict.mail.share import Share
from verdict.mail.week import Week
from verdict.model.nul import spell_out
from verdict.projection.mail_outbox import mails

SHOWN_CHARS = 2_000


class Mail(NamedTuple):
    """What is to be sent, as it was recorded."""

    client: str
    number: int
    message_id: str


class Leases:
    """Those of one process on the mails of one week.

    Args:
        engine: Of the database.
        week: That is recorded.
        worker: Names the process; no two have the same name.
        lease_ms: How long a mail is kept from others, longer than sending one can take.
        clock: Epoch milliseconds; those of all workers agree but for much less than a lease.
    """

    def __init__(
        self, engine: Engine, week: Week, worker: str, lease_ms: int, clock: Callable[[], int]
    ) -> None:
        self._engine = engine
        self._week = str(week)
        self._worker = worker
        self._lease_ms = lease_ms
        self._clock = clock

    def claim_own(self, share: Share, after: str) -> Mail | None:
        """Lease the next mail of one's own share that nobody is sending.

        Args:
            share: That it is in.
            after: The client of the mail before it; a text before all others for the first.
        """
        return self._claim(_in(share), or_(mails.c.worker.is_(None), self._run_out()), after)

    def claim_left(self, share: Share, after: str) -> Mail | None:
        """Lease the next mail outside of `share` that its own worker did not send in time."""
        return self._claim(~_in(share), self._run_out(), after)

    def sent(self, mail: Mail) -> None:
        """Note that the mail server has it; that holds even if the lease was lost meanwhile."""
        now = self._clock()
        self._note(mail, {"status": SENT, "sent_at": now, "lease_until": None, "error": None})

    def failed(self, mail: Mail, error: str) -> None:
        """Note that it cannot be sent, and why; it is not tried again."""
        gone = {"status": FAILED, "lease_until": None, "error": _shown(error)}
        self._note(mail, gone, mails.c.worker == self._worker)

    def put_back(self, mail: Mail, error: str) -> None:
        """Leave it to the next run, with the reason; at first to that of its own worker."""
        later = self._clock() + self._lease_ms
        back = {"worker": None, "lease_until": later, "error": _shown(error)}
        self._note(mail, back, mails.c.worker == self._worker)

    def _claim(
        self, share: ColumnElement[bool], free: ColumnElement[bool], after: str
    ) -> Mail | None:
        first = (
            select(mails.c.client, mails.c.number, mails.c.message_id)
            .where(mails.c.week == self._week, mails.c.client > after)
            .where(mails.c.status == DUE, share, free)
            .order_by(mails.c.client)
            .limit(1)
            .with_for_update(skip_locked=True)  # on SQLite a transaction is alone anyway
        )
        with self._engine.begin() as connection:
            row = connection.execute(first).first()
            if row is None:
                return None
            leased = {"worker": self._worker, "lease_until": self._clock() + self._lease_ms}
            connection.execute(update(mails).where(*self._is(row.client)).values(leased))
            return Mail(*row)

    def _run_out(self) -> ColumnElement[bool]:
        return mails.c.lease_until <= self._clock()

    def _note(self, mail: Mail, values: dict[str, Any], *still: ColumnElement[bool]) -> None:
        row = (*self._is(mail.client), mails.c.status == DUE, *still)
        with self._engine.begin() as connection:
            connection.execute(update(mails).where(*row).values(values))

    def _is(self, client: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return mails.c.week == self._week, mails.c.client == client


def _in(share: Share) -> ColumnElement[bool]:
    return mails.c.bucket % share.of == share.number - 1


def _shown(error: str) -> str:
    return spell_out(error)[:SHOWN_CHARS]
