"""`verdict recover` that kills itself: `python -m tests.e2e.doomed_recovery STEP DATA_DIR`."""

import os
import signal
import sys
from pathlib import Path

from tests.application import APPLICATION
from verdict.cli.recover import recover_alone
from verdict.settings.load import load_settings
from verdict.write_side.recovery.recovering import RecoveryStep

if __name__ == "__main__":
    fatal, data_dir = RecoveryStep(sys.argv[1]), Path(sys.argv[2])

    def die(step: RecoveryStep) -> None:
        """Leave no last word to anything of this process."""
        if step is fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    recover_alone(load_settings(APPLICATION, data_dir=data_dir), None, die)
