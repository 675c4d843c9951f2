import subprocess
import sys

import pytest

from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.read_side import doomed
from tests.tiers import is_thorough

BATCHES = len(doomed.RESPONSES) if is_thorough() else 1  # the last one meets rows of all kinds
STATEMENTS = 5  # of a transaction at least: position, version, rows read and written, commit


@pytest.mark.proves("A-06", "V-01")
@pytest.mark.process
@pytest.mark.long
def test_kill_9_at_every_statement_loses_and_doubles_nothing(new_database: NewDatabase) -> None:
    """A-06: each batch is committed with its position, or it was never there."""
    undisturbed, killed = ReadSide(new_database()), ReadSide(new_database())
    doomed.apply_all(undisturbed.engine)

    process = [sys.executable, "-m", "tests.read_side.doomed", killed.url, str(BATCHES)]
    kills = int(subprocess.run(process, check=True, stdout=subprocess.PIPE, timeout=300).stdout)

    assert killed.dump() == undisturbed.dump()
    idle = 1  # has nothing to do
    transactions = BATCHES * (len(killed.projections) - idle)
    assert kills >= STATEMENTS * transactions
    for read_side in (undisturbed, killed):
        read_side.close()
