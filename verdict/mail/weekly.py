"""What `verdict mail` does: a week's mails are recorded once, then each worker sends its share."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.configuration.found import database_url
from verdict.configuration.settings import Settings
from verdict.database.address import one_line, shown
from verdict.database.time_text import wall_clock
from verdict.errors import Unreachable, VerdictError
from verdict.mail import outbox
from verdict.mail.courier import Courier
from verdict.mail.leases import Leases
from verdict.mail.receivers import receivers_at
from verdict.mail.sending import Sending, sending_of
from verdict.mail.share import Share
from verdict.mail.week import Week
from verdict.mail.worker import Counts, Worker
from verdict.model.application import Application
from verdict.model.mailing import Mailing
from verdict.projection.database import create_processor_tables, opened


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, and how many of the week's mails are due behind it."""

    recorded: int
    counts: Counts
    due: int


@dataclass(frozen=True, slots=True)
class WeeklyMail:
    """One worker's part in the mail of one week.

    Args:
        settings: Those of the service, which runs or not.
        week: Whose mail.
        share: What the worker sends first.
        clock: Epoch milliseconds.
    """

    settings: Settings
    week: Week
    share: Share
    clock: Callable[[], int] = wall_clock

    def run(self, failed_again: bool = False) -> Report:
        """Record the week's mails unless they are; then, with a mail server set, send what is due.

        Args:
            failed_again: Whether mails that were refused for good are due again.

        Raises:
            NotOver: The cut-off lies ahead.
            VerdictError: No mail is declared, its receivers cannot be told, or it cannot be sent;
                what was done is noted.
            Unreachable: Kafka, the database or the mail server does not answer.
        """
        mailing = declared_mailing(self.settings.application)
        self.week.see_that_it_is_over(self.clock())
        sending = sending_of(self.settings)  # before mails are recorded that could not be sent
        with _database(self.settings) as engine:
            recorded = self._record(engine, mailing)
            if failed_again:
                outbox.make_due_again(engine, self.week)
            counts = Counts() if sending is None else self._send(engine, sending, mailing)
            return Report(recorded, counts, outbox.due(engine, self.week))

    @property
    def _lease_ms(self) -> int:
        return self.settings.mail_lease_s * 1000

    def _record(self, engine: Engine, mailing: Mailing) -> int:
        if outbox.is_recorded(engine, self.week):
            return 0
        with receivers_at(self.settings, mailing, self.week) as receivers:
            now = self.clock()
            reserved_until = now + self._lease_ms
            deployment = self.settings.deployment
            return outbox.record(engine, self.week, receivers, deployment, now, reserved_until)

    def _send(self, engine: Engine, sending: Sending, mailing: Mailing) -> Counts:
        name = f"{self.share} {socket.gethostname()}:{os.getpid()} {uuid4().hex[:8]}"
        leases = Leases(engine, self.week, name, self._lease_ms, self.clock)
        with Courier(sending.server) as courier:
            return Worker(
                week=self.week,
                share=self.share,
                leases=leases,
                carrier=courier,
                sender=sending.sender,
                address_of=sending.address_of,
                write=mailing.write,
                clock=self.clock,
            ).run()


def declared_mailing(application: Application) -> Mailing:
    """Return what goes out by mail.

    Raises:
        VerdictError: Nothing does.
    """
    if application.mailing is None:
        raise VerdictError(f"{application.name} sends no mail: declare its `mailing`")
    return application.mailing


@contextmanager
def _database(settings: Settings) -> Iterator[Engine]:
    with opened(database_url(settings)) as engine:
        try:
            create_processor_tables(engine, settings.roles)
            yield engine
        except DBAPIError as error:
            raise Unreachable(f"{shown(engine.url)}: {one_line(error.orig)}") from error
