"""A worker in a process of its own, that kills itself at a step of its first mail."""

import os
import signal
import sys
from typing import Any

from tests.mail.desk import Desk
from verdict.mail.courier import Courier
from verdict.mail.leases import Leases
from verdict.mail.share import Share


def main(url: str, smtp_url: str, step: str) -> None:
    """Send the first of two shares; die once a mail is `claimed`, or `delivered` but not noted."""

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    where = {"claimed": (Courier, "deliver"), "delivered": (Leases, "sent")}
    setattr(*where[step], die)
    Desk(url, smtp_url).send(Share(1, 2), "doomed")


if __name__ == "__main__":
    main(*sys.argv[1:])
