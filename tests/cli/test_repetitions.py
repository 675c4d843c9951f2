"""A command that was sent again is shown once, with its repetitions below."""

from pathlib import Path

import pytest

from commands.order import DeleteOrder, PlaceOrder
from compose.application import app
from tests.cli.conftest import Run
from tests.http.filled import keep
from verdict.cli.application import IN_A_CHECKOUT
from verdict.settings.discovery import DATABASE
from verdict.testing import InMemory

PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=1)


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """Return a data directory with one command that was sent three times, and one sent often."""
    with InMemory(app) as memory:
        for actor in ("ada", None, "bob"):
            memory.send("o-1", PLACE, 0, command_id="c-1", actor=actor, correlation_id="flow")
        memory.send("o-1", DeleteOrder(), 9, command_id="c-2", correlation_id="flow")
        for _ in range(15):
            memory.send("o-2", PLACE, 0, command_id="c-3", correlation_id="many")
        keep(memory, f"sqlite:///{tmp_path / DATABASE}")
    return tmp_path


@pytest.mark.parametrize(
    ("verb", "commands"),
    [(("trace", "flow"), 2), (("explain", "c-1"), 1), (("history", "order", "o-1"), 2)],
)
def test_one_that_was_sent_three_times_is_shown_once(
    run: Run, sent: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...], commands: int
) -> None:
    monkeypatch.setenv("VERDICT_APP", IN_A_CHECKOUT)
    shown = run(*verb, "--data-dir", sent).stdout
    rows = run(*verb, "--data-dir", sent, "--json").lines
    many = run("explain", "c-3", "--data-dir", sent).stdout

    assert shown.count("PlaceOrder") == 1
    again = " ".join(shown.partition("sent again")[2].split()).removeprefix(": ")
    assert again.startswith("order.commands:")
    assert " by bob" in again
    assert len(rows) == commands + 2, "programs get every record"
    assert "and 4 more" in " ".join(many.split())
