"""Workers of the weekly mail on one outbox, at a time that the test sets."""

from email.headerregistry import Address

from projections.outbound.weekly_mail.smtp_server import parse_server
from projections.outbound.weekly_mail.week import parse_week
from projections.outbound.weekly_mail.worker import Delivery, send
from tests.outbox.database import BATCH, OutboxDatabase
from verdict.projections import DeliveryCounts
from verdict.read_side.schema.database import open_database

WEEK = parse_week(BATCH)


class Workers(OutboxDatabase):
    """An outbox, and the mail server that its mails go to."""

    def __init__(self, url: str, smtp_url: str) -> None:
        super().__init__(url)
        self.smtp_url = smtp_url

    def send(self, name: str = "w") -> DeliveryCounts:
        """Run a worker, with connections of its own as another process has them."""
        sender = Address(addr_spec="verdict@example.com")
        delivery = Delivery(parse_server(self.smtp_url), sender, "{client}@example.com")
        engine = open_database(self.url)
        try:
            return send(self.process(name, engine), WEEK, delivery, lambda: self.now)
        finally:
            engine.dispose()
