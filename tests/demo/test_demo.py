"""`verdict demo` for real, as a process of its own: told to the end, and interrupted."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from verdict.cli.application import IN_A_CHECKOUT

VERDICT = str(Path(sys.executable).with_name("verdict"))
OF_TABLES = ("   ", "\u2500")  # what is between columns, and below their names
ENDS_S = 540

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Return where the demo makes its data directory."""
    with tempfile.TemporaryDirectory(prefix="verdict-test-") as folder:
        yield Path(folder)


def environment(temporary: Path) -> dict[str, str]:
    """Return one in which the settings name a Kafka and a database that the demo must not use."""
    return os.environ | {
        "TMPDIR": str(temporary),
        "VERDICT_APP": IN_A_CHECKOUT,
        "PYTHONUNBUFFERED": "1",
        "VERDICT_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "VERDICT_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    }


def runs(process: psutil.Process) -> bool:
    """Tell whether a process still does something; who takes note of its end is not our affair."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.long
def test_the_whole_story_is_as_it_must_be_and_leaves_nothing(temporary: Path) -> None:
    told = subprocess.run(
        [VERDICT, "demo", "--commands", "500"],
        cwd=temporary,
        env=environment(temporary),
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
    assert [*temporary.iterdir()] == []


@pytest.mark.thorough  # its parts: test_stopping.py and test_throwaway.py
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.long
def test_interrupted_it_leaves_no_process_and_no_file(
    temporary: Path, number: signal.Signals, code: int
) -> None:
    demo = subprocess.Popen(
        [VERDICT, "demo"],
        cwd=temporary,
        env=environment(temporary),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert demo.stdout is not None
    assert any("ready: Kafka" in line for line in demo.stdout)
    children = psutil.Process(demo.pid).children(recursive=True)
    assert children

    demo.send_signal(number)
    _, said = demo.communicate(timeout=ENDS_S)

    said = said.strip()
    assert (said, demo.returncode) == ("verdict: stopping, so that nothing is left running", code)
    assert [child for child in children if runs(child)] == []
    assert [*temporary.iterdir()] == []
