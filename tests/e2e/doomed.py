"""`verdict up` that kills itself: `python -m tests.e2e.doomed STEP NTH DATA_DIR`.

SIGKILL when the step is reached for the n-th time; nothing of the process gets a last word.
"""

import os
import signal
import sys
from pathlib import Path

from compose.cli.up import serve
from compose.exactly_once.steps import Step
from compose.settings_loading import load_settings


class Doom:
    """Counts one step, and kills the process when its number is up."""

    def __init__(self, step: Step, nth: int) -> None:
        self._step = step
        self._left = nth

    def __call__(self, step: Step) -> None:
        if step is self._step:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    step, nth, data_dir = sys.argv[1:]
    serve(load_settings(data_dir=Path(data_dir)), Doom(Step(step), int(nth)))
