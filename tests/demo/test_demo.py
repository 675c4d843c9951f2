"""`verdict demo` for real, as a process of its own, told to the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from verdict.cli.application import IN_A_CHECKOUT

VERDICT = str(Path(sys.executable).with_name("verdict"))
OF_TABLES = ("   ", "\u2500")  # what is between columns, and below their names
ENDS_S = 540

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.long
def test_the_whole_story_is_as_it_must_be_and_leaves_nothing(tmp_path: Path) -> None:
    """The settings name a Kafka and a database that the demo must not use."""
    environment = {
        "TMPDIR": str(tmp_path),
        "VERDICT_APP": IN_A_CHECKOUT,
        "PYTHONUNBUFFERED": "1",
        "VERDICT_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "VERDICT_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    }
    told = subprocess.run(
        [VERDICT, "demo", "--commands", "500"],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=ENDS_S,
    )

    assert (told.returncode, told.stderr) == (0, "")
    # a row of a table is longer before an id or a message in it is broken
    prose = [line for line in told.stdout.splitlines() if not any(x in line[3:] for x in OF_TABLES)]
    assert max(map(len, prose)) <= 100
    for line in (
        "✓ client1 and client2 hold US stock; client3, with London only, does not",
        "✓ of DeleteOrder and ModifyOrder on version 1 exactly one wins",
        "✓ the same command sent twice is decided once, with one outcome for both",
        "✓ garbage is kept in dead-letters, byte for byte",
        "✓ accepted and rejected by reason are what they must be",
        "✓ the tallies are what was sent",
        "✓ a customer's points add up over all stores",
        "customers get their points, each total the sum so far",
        "✓ no card and no address is in any of them",
        "✓ the first came back when it was due: unchanged, with one more attempt",
        "✓ the carrier delivers it on the second try, so no dead letter waits any more",
        "✓ the other is parked for an operator: `verdict dead-letters list`",
        "all that was checked is as it was written",
        "✓ the audit checked all of it and found nothing",
        "checks, and everything is what it must be.",
    ):
        assert line in told.stdout
    assert "✗" not in told.stdout
    assert [*tmp_path.iterdir()] == []
