import subprocess
import sys
from pathlib import Path

import pytest

from compose.errors import VerdictError
from compose.exactly_once.lock import DataDirectoryLock

HOLDER = """
import sys
from pathlib import Path
from compose.exactly_once.lock import DataDirectoryLock

lock = DataDirectoryLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_and_told_the_pid_of_the_first(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"

        with pytest.raises(VerdictError, match=f"{tmp_path} is in use by .* pid {holder.pid}"):
            DataDirectoryLock(tmp_path)

        holder.kill()
        holder.wait()
        DataDirectoryLock(tmp_path).release()


def test_a_released_directory_can_be_locked_again(tmp_path: Path) -> None:
    with DataDirectoryLock(tmp_path / "new"):
        pass

    DataDirectoryLock(tmp_path / "new").release()
