"""Run a command that must not outlive the process that started it, however that one ends.

    python -I -S guardian.py GRACE_S COMMAND...

The parent holds the other end of our stdin. When it closes, because the parent asks for the end or
is gone (SIGKILL included), the command gets SIGTERM, and SIGKILL when it is still there
GRACE_S seconds later.
The command's pid is the one line on our stdout; its own output goes to our stderr. We exit with
its code. Standard library only, so that starting us costs nothing.
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
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr
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
