"""Run a command that must not outlive the process that started it, even after SIGKILL.

    python -I -S process_guardian.py GRACE_S COMMAND...

When stdin closes, the command gets SIGTERM, and SIGKILL after GRACE_S seconds. Its pid goes to
stdout, its output to stderr. Standard library only, which starts fast.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading


def main(grace_s: float, command: list[str]) -> int:
    """Run `command` to its end, or to that of our parent."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        stderr=sys.stderr,
        close_fds=False,  # the lock of the command's directory is held as long as it runs
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    threading.Thread(target=_end_with_parent, args=(child, grace_s), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # a parent gone already is seen by the thread
        print(child.pid, flush=True)
    return child.wait()


def _end_with_parent(child: "subprocess.Popen[bytes]", grace_s: float) -> None:
    os.read(sys.stdin.fileno(), 1)  # unbuffered: a reader's lock would hang our own exit
    child.terminate()
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
