"""However the demo is ended, it cleans up: signals become exceptions."""

import os
import signal
import sys
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Ctrl-C or SIGTERM, as an exception in the main thread: KeyboardInterrupt, SystemExit.

    Used as a context manager it leaves with that exception whatever came of it on the way: one
    that is raised inside a callback from C (SQLite's authorizer, say) becomes another, or none.
    """

    def __init__(self) -> None:
        self._number: int | None = None

    def check(self) -> None:
        """Return unless it came.

        Raises:
            KeyboardInterrupt, SystemExit: It came.
        """
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        if self._number is not None:
            sys.exit(128 + self._number)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._number = number
        for each in SIGNALS:  # a second one would interrupt the cleaning up
            signal.signal(each, signal.SIG_IGN)
        os.write(sys.stderr.fileno(), b"\nverdict: stopping, so that nothing is left running\n")
        self.check()

    def __enter__(self) -> "Interruption":
        for number in SIGNALS:
            signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        self.check()
