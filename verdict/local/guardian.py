"""Run a command that must not outlive the process that started it, however that one ends.

    python -I -S guardian.py COMMAND...

The parent holds the other end of our stdin. When it closes, because the parent asks for the end or
is gone (SIGKILL included), the command gets SIGTERM, and SIGKILL when it is still there 10 s later.
The command's pid is the one line on our stdout; its own output goes to our stderr. We exit with
its code. Standard library only, so that starting us costs nothing.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading

GRACE_S = 10


def main(command: list[str]) -> int:
    """Run `command` to its end, or to that of our parent."""
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    threading.Thread(target=_end_with_parent, args=(child,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # a parent gone already is seen by the thread
        print(child.pid, flush=True)
    return child.wait()


def _end_with_parent(child: "subprocess.Popen[bytes]") -> None:
    os.read(sys.stdin.fileno(), 1)  # unbuffered: a reader's lock would hang our own exit
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
