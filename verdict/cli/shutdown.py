"""The end of a service that one of its parts has died of: said first, and over within seconds."""

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from verdict.errors import VerdictError
from verdict.wire.terminal import escape_lines

LOG = logging.getLogger("verdict.leaving")
LEAVE_S = 10.0
STARTING = "stopped while it was starting: the next start goes on from there, nothing is lost"


class StopRequest(threading.Event):
    """Set when a process shall stop; `by` names the signal that asked for it."""

    by = ""


def shut_down(
    failure: BaseException, stop: Callable[[], None], seconds: float = LEAVE_S
) -> NoReturn:
    """Print why, call `stop`, and end this process, after so many seconds at most.

    A bug is shown with its traceback. A stop that takes longer leaves what kill -9 leaves.
    """
    code = VerdictError.exit_code
    if isinstance(failure, VerdictError):
        code = failure.exit_code
        _say(f"verdict: {escape_lines(str(failure))}")
    else:
        traceback.print_exception(failure)
    exit_within(seconds, code)
    try:
        stop()
    except Exception as error:  # what has died cannot be stopped in order: that is no news
        LOG.debug("while stopping", exc_info=error)
    _end(code)


def exit_within(seconds: float, code: int) -> None:
    """End this process after so many seconds if it still runs then, as by kill -9."""
    timer = threading.Timer(seconds, _end, (code,))
    timer.daemon = True
    timer.start()


def exit_quietly(
    asked: threading.Event,
    started: threading.Event,
    heard: threading.Event,
    seconds: float = LEAVE_S,
) -> None:
    """End this process, as by kill -9, when `heard` does not follow `asked` within seconds.

    Before `started` is set that is no failure: a start may take its time.
    """

    def wait() -> None:
        asked.wait()
        if heard.wait(seconds):
            return
        if not started.is_set():
            _say(STARTING)
            _end(0)
        error = VerdictError(
            f"what was asked to stop did not answer for {seconds:g} s, Spark's JVM or a database "
            "may stand still: ended as by kill -9, nothing is lost"
        )
        _say(f"verdict: {error}")
        _end(error.exit_code)

    threading.Thread(target=wait, name="leaving unheard", daemon=True).start()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _end(code: int) -> NoReturn:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def stop_on_signals(stopped: StopRequest) -> None:
    """Let the first SIGTERM or Ctrl-C set `stopped`; a second one ends the process at once."""

    def stop(number: int, frame: object) -> None:
        stopped.by = signal.Signals(number).name
        stopped.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


@contextmanager
def exiting_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end what goes on inside as Ctrl-C does: `finally` and `with` have their turn."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)  # as a shell tells of a signal

    former = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def silence_py4j() -> None:
    """Let nothing be logged of a JVM that has ended, or of a call to it that Ctrl-C has ended.

    It would be pages, by the root logger; who needs the JVM says why it ends.
    """
    logging.getLogger().addFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts
