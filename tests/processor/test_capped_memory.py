"""C-13: a state that is four times what the memory of its process may be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.processor import capped

BEYOND_MIB = 24  # of a bare interpreter
TIMES = 4


@pytest.mark.proves("C-13")
@pytest.mark.process
@pytest.mark.long
def test_a_state_four_times_the_capped_memory_grows_is_read_and_rebuilt(tmp_path: Path) -> None:
    """Nine tenths of it are remembered ids."""
    command = [sys.executable, "-m", capped.__name__, str(tmp_path), str(BEYOND_MIB), str(TIMES)]

    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["capped"]
    assert found["right"] == found["right_after_rebuild"] == 2 * capped.ASKED
    assert found["cap_bytes"] < 64 * 2**20
    entries = found["aggregates"] * (capped.SNAPSHOT_BYTES + capped.OUTCOME_BYTES)
    assert min(entries, found["local_copy_bytes"]) > TIMES * found["cap_bytes"]
