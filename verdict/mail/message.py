"""What a holder reads."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

from verdict.mail.leases import Mail
from verdict.mail.week import Week
from verdict.model.message import iso_time

TEXT = """\
Dear {client},

at the end of week {week} ({cut_off}) you held {positions} on US exchanges.
"""


def message(mail: Mail, week: Week, sender: Address, receiver: Address, now: int) -> EmailMessage:
    """Return the mail; `now` is its date, in epoch milliseconds."""
    made = EmailMessage(policy=SMTP)
    made["Message-ID"] = mail.message_id
    made["Date"] = formatdate(now / 1000, usegmt=True)
    made["From"] = sender
    made["To"] = receiver
    made["Subject"] = f"Your US positions at the end of {week}"
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's holiday notice answers it
    made.set_content(
        TEXT.format(
            client=mail.client,
            week=week,
            cut_off=iso_time(week.cut_off),
            positions="1 position" if mail.positions == 1 else f"{mail.positions} positions",
        )
    )
    return made
