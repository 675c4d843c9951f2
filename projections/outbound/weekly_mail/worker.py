"""One worker's part in the mail of one week: record the mails once, then send those due."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from functools import partial

from projections.outbound.weekly_mail.settings import CLIENT, MailSettings
from projections.outbound.weekly_mail.smtp import SmtpTransport
from projections.outbound.weekly_mail.smtp_server import SmtpServer
from projections.outbound.weekly_mail.text import write
from projections.outbound.weekly_mail.week import Week
from verdict.errors import InvalidSettingsError
from verdict.projections import (
    DeliveryCounts,
    DeliveryRefusedError,
    Outbox,
    OutboxMessage,
    as_of,
    open_outbox,
)

NAME = "weekly_mail"
PROJECTION = "us_holder"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, and how many mails of the week are still due."""

    recorded: int
    counts: DeliveryCounts
    due: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where mails go, from whom, and how a client becomes an address."""

    server: SmtpServer
    sender: Address
    template: str


def wall_clock() -> int:
    """Return now in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def run(
    settings: MailSettings,
    week: Week,
    worker: str | None = None,
    failed_again: bool = False,
    clock: Callable[[], int] = wall_clock,
) -> Report:
    """Record the mails of a week once; with a mail server, send those that are due.

    `worker` names this process in the view `outbox`. With `failed_again` refused mails are due
    again.
    """
    week.require_over(clock())
    delivery = load_delivery(settings)  # first: mails that cannot be sent should not be recorded
    with open_outbox(settings, NAME, settings.mail_lease_s, worker) as outbox:
        recorded = _record(settings, outbox, week)
        if failed_again:
            outbox.retry_failed(str(week))
        counts = DeliveryCounts() if delivery is None else send(outbox, week, delivery, clock)
        return Report(recorded, counts, outbox.count_due(str(week)))


def send(
    outbox: Outbox, week: Week, delivery: Delivery, clock: Callable[[], int] = wall_clock
) -> DeliveryCounts:
    """Send the mails of a week that are due and that no other worker has."""
    with SmtpTransport(delivery.server) as transport:
        return outbox.send(str(week), partial(_deliver, transport, week, delivery, clock))


def load_delivery(settings: MailSettings) -> Delivery | None:
    """Return what sending needs; None if there is no mail server, and mails are recorded only."""
    server, template = settings.smtp_server, settings.mail_address_template
    if server is None:
        return None
    if settings.mail_from is None or template is None:
        raise InvalidSettingsError(
            "smtp_url is set, so mails are to be sent: set mail_from (--from) and "
            f"mail_address_template (--address-template), such as {CLIENT}@example.com, too"
        )
    try:
        return Delivery(server, parse_address(settings.mail_from), template)
    except ValueError as error:
        raise InvalidSettingsError(f"setting 'mail_from': {error}") from error


def parse_address(text: str) -> Address:
    """Read one mail address."""
    try:
        address = Address(addr_spec=text)
    except (ValueError, LookupError, MessageError) as error:
        raise ValueError(f"{text!r} is not a mail address ({error})") from error
    if address.addr_spec != text:
        raise ValueError(f"{text!r} is not one mail address ({address.addr_spec!r} is)")
    return address


def _record(settings: MailSettings, outbox: Outbox, week: Week) -> int:
    if outbox.is_recorded(str(week)):
        return 0
    # an event at the cut-off itself belongs to the next week
    with as_of(settings, PROJECTION, week.cut_off - 1) as rows:
        holders = ((row["client"], {"positions": row["positions"]}) for row in rows)
        return outbox.record(str(week), holders)


def _deliver(
    transport: SmtpTransport,
    week: Week,
    delivery: Delivery,
    clock: Callable[[], int],
    message: OutboxMessage,
) -> None:
    try:
        receiver = parse_address(delivery.template.replace(CLIENT, message.key))
    except ValueError as error:
        raise DeliveryRefusedError(str(error)) from error
    transport.deliver(write(message, week, delivery.sender, receiver, clock()))
