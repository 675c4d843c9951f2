"""`verdict up` that kills itself: `python -m tests.e2e.doomed STEP NTH DATA_DIR SIGNAL`.

SIGKILL when the step is reached for the n-th time; nothing of the process gets a last word. Or
SIGSTOP: then it stands there until somebody lets it go on, and does so again every n-th time.
"""

import signal
import sys
import threading
from pathlib import Path

from tests.application import APPLICATION
from verdict.cli.up import serve
from verdict.errors import VerdictError
from verdict.settings.load import load_settings
from verdict.streaming.exactly_once.failpoints import Failpoint


class Doom:
    """Counts one step, and sends the process a signal when its number is up."""

    def __init__(self, step: Failpoint, nth: int, fatal: signal.Signals) -> None:
        self._step = step
        self._nth = nth
        self._reached = 0
        self._fatal = fatal

    def __call__(self, step: Failpoint) -> None:
        if step is self._step:
            self._reached += 1
            if self._reached % self._nth == 0:
                # to this thread, which so does not take another step; to the process, another
                # thread might take the signal while this one commits
                signal.pthread_kill(threading.get_ident(), self._fatal)


if __name__ == "__main__":
    step, nth, data_dir, fatal = sys.argv[1:]
    doom = Doom(Failpoint(step), int(nth), signal.Signals[fatal])
    try:
        serve(load_settings(APPLICATION, data_dir=Path(data_dir)), doom)
    except VerdictError as error:  # said as `verdict up` says it
        sys.exit(f"verdict: {error}")
