"""How a service ends: in order after a signal, and within seconds when something hangs or died."""

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from verdict.errors import VerdictError
from verdict.wire.control_characters import escape_lines

STOP_S = 10.0
STOPPED_AT_START = "stopped while it was starting: nothing is lost, and the next start continues"
HUNG = (
    f"verdict: the service did not stop within {STOP_S:g} s: Spark's JVM or a database does not "
    "answer, so it was killed; nothing is lost, and the next start continues"
)


class StopRequest(threading.Event):
    """Set by the first SIGTERM or Ctrl-C; `by` is the name of the signal."""

    by = ""

    def listen(self, on_signal: Callable[[], None] = lambda: None) -> None:
        """Handle both signals; the second one ends the process at once."""

        def stop(number: int, frame: object) -> None:
            self._handle(signal.SIG_DFL)
            self.by = signal.Signals(number).name
            on_signal()
            self.set()

        self._handle(signal.SIG_DFL if self.is_set() else stop)

    def _handle(self, handler: "signal.Handlers | Callable[[int, object], None]") -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, handler)


def exit_timer(seconds: float, code: int, message: str = "") -> threading.Timer:
    """Return a timer that ends this process as kill -9 does; it starts by `start`."""
    timer = threading.Timer(seconds, _exit, (code, message))
    timer.daemon = True
    return timer


def shut_down(
    failure: BaseException, stop: Callable[[], None], seconds: float = STOP_S
) -> NoReturn:
    """Print why the service failed, call `stop`, and exit after so many seconds at most.

    A bug is shown with its traceback.
    """
    code = VerdictError.exit_code
    if isinstance(failure, VerdictError):
        code = failure.exit_code
        _print(f"verdict: {escape_lines(str(failure))}")
    else:
        traceback.print_exception(failure)
    exit_timer(seconds, code).start()
    with suppress(Exception):  # what has died cannot be stopped in order
        stop()
    _exit(code)


@contextmanager
def exiting_on_sigterm() -> Iterator[None]:
    """Let SIGTERM run each `finally` inside, as Ctrl-C does."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)  # the code that shells use

    former = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def silence_py4j() -> None:
    """Drop py4j's pages of log about a JVM that has ended: what needs the JVM reports it."""
    logging.getLogger().addFilter(lambda record: "py4j" not in Path(record.pathname).parts)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _exit(code: int, message: str = "") -> NoReturn:
    if message:
        _print(message)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)
