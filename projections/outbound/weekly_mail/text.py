"""A mail as it goes out: what a holder reads, between the headers that mail needs."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

from projections.outbound.weekly_mail.week import Week
from verdict.model import iso_time
from verdict.projections import OutboxMessage

HOST = "mail.verdict.invalid"  # a reserved name (RFC 2606), and the same for each worker
TEXT = """\
Dear {client},

at the end of week {week} ({end}) you held {positions} on US exchanges.
"""


def write(
    message: OutboxMessage, week: Week, sender: Address, receiver: Address, now: int
) -> EmailMessage:
    """Return the mail to a holder; `now` is its date, in epoch milliseconds."""
    count = message.content["positions"]
    mail = EmailMessage(policy=SMTP)
    mail["Message-ID"] = f"<{message.id}@{HOST}>"
    mail["Date"] = formatdate(now / 1000, usegmt=True)
    mail["From"] = sender
    mail["To"] = receiver
    mail["Subject"] = f"Your US positions at the end of {week}"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no holiday notice answers it
    mail.set_content(
        TEXT.format(
            client=message.key,
            week=week,
            end=iso_time(week.cut_off),
            positions="1 position" if count == 1 else f"{count} positions",
        )
    )
    return mail
