"""A worker in a process of its own that kills itself at a step of its first mail."""

import os
import signal
import sys
from typing import Any

from projections.outbound.weekly_mail.smtp import SmtpTransport
from tests.mail.workers import Workers
from verdict.projections import Outbox


def main(url: str, smtp_url: str, step: str) -> None:
    """Send; die when a mail is `claimed`, or `delivered` and not recorded as sent."""

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    where = {"claimed": (SmtpTransport, "deliver"), "delivered": (Outbox, "record_sent")}
    setattr(*where[step], die)
    Workers(url, smtp_url).send("doomed")


if __name__ == "__main__":
    main(*sys.argv[1:])
