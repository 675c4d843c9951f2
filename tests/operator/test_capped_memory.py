"""C-13: a state that is four times what the memory of its process may be."""

import json
import subprocess
import sys
from pathlib import Path

from tests.documents import ROOT
from tests.operator import capped

CAP_MIB = 32
TIMES = 4


def test_a_state_four_times_the_capped_memory_grows_is_read_and_rebuilt(tmp_path: Path) -> None:
    """Remembered ids are two thirds of it, and more."""
    command = [sys.executable, "-m", capped.__name__, str(tmp_path), str(CAP_MIB), str(TIMES)]

    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["capped"]
    assert found["right"] == found["right_after_rebuild"] == 2 * capped.ASKED
    entries = found["aggregates"] * (capped.SNAPSHOT_BYTES + capped.OUTCOME_BYTES)
    assert min(entries, found["state_bytes"], found["local_copy_bytes"]) > TIMES * CAP_MIB * 2**20
