"""A service that stands still as a whole, as on a laptop that is closed, and wakes up later."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable

import psutil


def await_stopped(service: "subprocess.Popen[str]") -> None:
    """Return when the process has stopped itself."""
    _, status = os.waitpid(service.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it ended instead: {status}"


def pause(service: "subprocess.Popen[str] | psutil.Popen") -> Callable[[], None]:
    """Stop the process and all that it has started, and return what lets them go on."""
    root = psutil.Process(service.pid)
    stopped: list[psutil.Process] = []
    # looked for again: one that was not stopped yet may have started another
    while running := [one for one in (root, *root.children(recursive=True)) if one not in stopped]:
        for one in running:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGSTOP)
        stopped += running

    def resume() -> None:
        for one in reversed(stopped):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGCONT)

    return resume
