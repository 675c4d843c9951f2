"""An outbox on a database, and workers around it whose time is given."""

from collections.abc import Callable
from email.headerregistry import Address
from typing import Any

from sqlalchemy import Engine

from projections.outbound.weekly_mail import write
from tests.application import APPLICATION
from verdict.configuration.mail_server import parse_server
from verdict.mail import outbox
from verdict.mail.addresses import AddressOf, addresses
from verdict.mail.courier import Courier
from verdict.mail.leases import Leases
from verdict.mail.share import Share, bucket_of
from verdict.mail.week import Week
from verdict.mail.worker import Counts, Worker
from verdict.model.mailing import Receiver
from verdict.projection.database import create_processor_tables, open_database
from verdict.projection.processor_tables import VIEWS
from verdict.reading.reader import Reader

WEEK = Week(2026, 46)
LEASE_MS = 900_000
ALL = Share(1, 1)
SENDER = Address(addr_spec="verdict@example.com")
TO = addresses(APPLICATION, "{client}@example.com")


class Desk:
    """One database; `now` is the time that everybody at it has, in epoch milliseconds.

    Args:
        url: Of the database.
        smtp_url: Of the mail server.
    """

    def __init__(self, url: str, smtp_url: str) -> None:
        self.url = url
        self.smtp_url = smtp_url
        self.now = WEEK.cut_off
        self.engine = open_database(url)
        create_processor_tables(self.engine)

    def record(self, *clients: str, engine: Engine | None = None) -> int:
        """Record a mail for each client, who holds as many positions as the name has letters."""
        holders = [Receiver(client, len(client)) for client in clients]
        until = self.now + LEASE_MS
        return outbox.record(engine or self.engine, WEEK, holders, "desk", self.now, until)

    def leases(self, name: str, engine: Engine | None = None) -> Leases:
        """Return those of a process."""
        return Leases(engine or self.engine, WEEK, name, LEASE_MS, lambda: self.now)

    def send(self, share: Share = ALL, name: str = "w", to: AddressOf = TO) -> Counts:
        """Let a worker run, with connections of its own as another process has them."""
        engine = open_database(self.url)
        try:
            with Courier(parse_server(self.smtp_url)) as courier:
                leases = self.leases(name, engine)
                clock: Callable[[], int] = lambda: self.now  # noqa: E731
                return Worker(WEEK, share, leases, courier, SENDER, to, write, clock).run()
        finally:
            engine.dispose()

    def rows(self, columns: str = "client, status", where: str = "1 = 1") -> list[tuple[Any, ...]]:
        """Return what readers see of the outbox, in the order of the clients."""
        statement = f"SELECT {columns} FROM mail_outbox WHERE {where} ORDER BY client"
        with Reader(self.url, [*VIEWS]) as reader:
            return [*reader.select(statement).rows]

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()


def clients_of(share: Share, count: int) -> list[str]:
    """Return the names of some clients in a share, sorted."""
    names = (f"client-{number}" for number in range(10_000))
    inside = (name for name in names if share.has(bucket_of(name)))
    return sorted(next(inside) for _ in range(count))
