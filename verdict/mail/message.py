"""A mail as it goes out: what the application wrote, between the headers that mail asks for."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

from verdict.mail.leases import Mail
from verdict.model.mailing import Written


def message(
    mail: Mail, written: Written, sender: Address, receiver: Address, now: int
) -> EmailMessage:
    """Return the mail; `now` is its date, in epoch milliseconds."""
    made = EmailMessage(policy=SMTP)
    made["Message-ID"] = mail.message_id
    made["Date"] = formatdate(now / 1000, usegmt=True)
    made["From"] = sender
    made["To"] = receiver
    made["Subject"] = written.subject
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's holiday notice answers it
    made.set_content(written.text)
    return made
