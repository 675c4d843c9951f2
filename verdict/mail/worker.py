"""One worker's run: its own share, then what others left."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Protocol

from verdict.mail.addresses import AddressOf, checked
from verdict.mail.courier import Deferred, Refused
from verdict.mail.leases import Leases, Mail
from verdict.mail.message import message
from verdict.mail.share import Share
from verdict.mail.week import Week
from verdict.model.mailing import Receiver, Write
from verdict.model.message import iso_time
from verdict.model.told import kind_and_text

LOG = logging.getLogger("verdict.mailing")
BEFORE_ALL = ""  # a client has at least one character


class Carrier(Protocol):
    """Takes mails; a `Courier`."""

    def deliver(self, message: EmailMessage) -> None:
        """Return when the mail is accepted.

        Raises:
            Refused, Deferred: It is not.
        """
        ...


@dataclass(slots=True)
class Counts:
    """What became of the mails of a run."""

    sent: int = 0
    failed: int = 0
    put_back: int = 0


@dataclass(frozen=True, slots=True)
class Worker:
    """Sends mails of one week that are due.

    Args:
        week: Of the mails.
        share: What it does first.
        leases: Keep other workers off what it is sending.
        carrier: Takes the mails.
        sender: Stands in each.
        address_of: Tells a client's address.
        write: (receiver, week, its end) → what the mail says.
        clock: Epoch milliseconds.
    """

    week: Week
    share: Share
    leases: Leases
    carrier: Carrier
    sender: Address
    address_of: AddressOf
    write: Write
    clock: Callable[[], int]

    def run(self) -> Counts:
        """Try each mail that is due, and nobody else's, once: first of its share, then of others.

        Whoever dies between the server's answer and the note leaves a mail that is sent again once
        the lease has run out, with the same Message-ID: SMTP knows no transaction.

        Raises:
            VerdictError: The mail server cannot be used at all; the mail at hand is put back.
        """
        counts = Counts()
        for claim in (self.leases.claim_own, self.leases.claim_left):
            after = BEFORE_ALL
            while (mail := claim(self.share, after)) is not None:
                after = mail.client
                self._try(mail, counts)
        return counts

    def _try(self, mail: Mail, counts: Counts) -> None:
        try:
            self.carrier.deliver(self._message(mail))
        except Refused as error:
            LOG.warning("%s: the mail to %s is refused: %s", self.week, mail.client, error)
            self.leases.failed(mail, str(error))
            counts.failed += 1
        except Deferred as error:
            self.leases.put_back(mail, str(error))
            counts.put_back += 1
        except Exception as error:
            self.leases.put_back(mail, str(error))
            raise
        else:
            self.leases.sent(mail)
            counts.sent += 1

    def _message(self, mail: Mail) -> EmailMessage:
        about = Receiver(mail.client, mail.number)
        written = self.write(about, str(self.week), iso_time(self.week.cut_off))
        return message(mail, written, self.sender, self._receiver(mail.client), self.clock())

    def _receiver(self, client: str) -> Address:
        """Return the client's address; that of one must not stop the mails to others."""
        try:
            return checked(self.address_of(client))
        except OSError as error:
            raise Deferred(f"no address can be told now: {error}") from error
        except Exception as error:
            raise Refused(f"no address: {kind_and_text(error)}") from error
