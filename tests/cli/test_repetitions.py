"""A command that was sent again is shown once, with its repetitions below."""

from pathlib import Path

import pytest

from commands.order import DeleteOrder, PlaceOrder
from compose.application import app
from tests.cli.conftest import Run
from tests.http.filled import keep
from verdict.cli.application import IN_A_CHECKOUT
from verdict.cli.trace import SHOWN, fold_repetitions, repetitions_text
from verdict.model.message import Fields
from verdict.settings.discovery import DATABASE
from verdict.testing import InMemory

PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=1)


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """Return a data directory with one command that was sent three times, by two people."""
    with InMemory(app) as memory:
        for actor in ("ada", None, "bob"):
            memory.send("o-1", PLACE, 0, command_id="c-1", actor=actor, correlation_id="flow")
        memory.send("o-1", DeleteOrder(), 9, command_id="c-2", correlation_id="flow")
        keep(memory, f"sqlite:///{tmp_path / DATABASE}")
    return tmp_path


@pytest.mark.parametrize(("verb", "commands"), [(("trace", "flow"), 2), (("explain", "c-1"), 1)])
def test_one_that_was_sent_three_times_is_shown_once(
    run: Run, sent: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, str], commands: int
) -> None:
    monkeypatch.setenv("VERDICT_APP", IN_A_CHECKOUT)
    answer = run(*verb, "--data-dir", sent)
    assert answer.exit_code == 0, answer
    shown = answer.stdout
    rows = run(*verb, "--data-dir", sent, "--json").lines

    assert shown.count("PlaceOrder to order 'o-1' ACCEPTED") == 1
    again = " ".join(shown.partition("sent again")[2].split()).removeprefix(": ")
    assert again.startswith("order.commands:")
    assert " by bob" in again
    assert len(rows) == commands + 2, "programs get every record"


def response(offset: int, **more: object) -> Fields:
    source = {"topic": "order.commands", "partition": 0, "offset": offset}
    names = ("aggregate_type", "aggregate_id", "command_id", "status", "reason", "to_version")
    about = dict.fromkeys(names) | {"duplicate": False, "source": source} | more
    return {"response": about}


def test_repetitions_belong_to_what_they_repeat_wherever_they_are() -> None:
    found = [
        response(1, command_id="c", duplicate=True),
        response(0, command_id="c"),
        response(2, command_id="c", reason="COMMAND_ID_REUSED"),
        response(3, command_id="c", duplicate=True),
        response(4, command_id="of another flow", duplicate=True),
        response(5, command_id="of another flow", duplicate=True),
        {"response": None},
    ]

    shown = [
        (one["response"] and one["response"]["source"]["offset"], repetitions_text(repeated))
        for one, repeated in fold_repetitions(found)
    ]

    assert shown == [
        (0, "order.commands:0:1, order.commands:0:3"),
        (2, ""),
        (4, "order.commands:0:5"),
        (None, ""),
    ]


def test_of_many_repetitions_the_first_are_named() -> None:
    many = [response(offset)["response"] for offset in range(SHOWN + 1_000)]

    assert repetitions_text(many).endswith(f"order.commands:0:{SHOWN - 1}, and 1,000 more")
