import subprocess
import sys
import threading
from pathlib import Path

import pytest

from verdict.adapters.local import lock
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.errors import VerdictError

pytestmark = pytest.mark.process

NOT_MADE = Path("/proc/nothing")

HOLDER = """
import sys
from pathlib import Path
from verdict.adapters.local.lock import DataDirectoryLock

lock = DataDirectoryLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"

        with pytest.raises(VerdictError, match=f"{tmp_path} is in use by .* pid {holder.pid}"):
            DataDirectoryLock(tmp_path)

        holder.kill()
        holder.wait()
        DataDirectoryLock(tmp_path).release()


def test_what_can_be_no_directory_is_refused_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    too_long = tmp_path / ("n" * 300)
    for place in (tmp_path / "file", tmp_path / "file" / "below", NOT_MADE, too_long):
        with pytest.raises(VerdictError, match=f"{place} cannot be used, .* with --data-dir"):
            DataDirectoryLock(place)


LEAVES_A_CHILD = """
import os
import subprocess
import sys
from pathlib import Path
from verdict.adapters.local.lock import DataDirectoryLock

lock = DataDirectoryLock(Path(sys.argv[1]))
child = subprocess.Popen(["cat"], stdin=0, pass_fds=[lock.fileno()])
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_child_that_a_killed_process_left_behind_is_waited_for_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", LEAVES_A_CHILD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        assert killed.stdin is not None
        assert killed.stdout is not None
        killed.stdout.readline()
        killed.wait()
        with monkeypatch.context() as impatient:
            impatient.setattr(lock, "CHILDREN_END_S", 0)
            with pytest.raises(VerdictError, match=f"child of process {killed.pid}, which is gone"):
                DataDirectoryLock(tmp_path)
        taken: list[DataDirectoryLock] = []
        waiting = threading.Thread(target=lambda: taken.append(DataDirectoryLock(tmp_path)))
        waiting.start()

        killed.stdin.close()  # now the child ends

        waiting.join(20)
    assert len(taken) == 1
    taken[0].release()
