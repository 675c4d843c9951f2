"""`verdict blocked` without a service: the operator's own transactions are enough."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.cli.conftest import Run, Verdict
from tests.kit.log import opened
from tests.read_side.holding import Holding

P7 = "us_holder/position/p-7"
P8 = "us_holder/position/p-8"
Blocked = Callable[..., Verdict]


@pytest.fixture
def lot(tmp_path: Path) -> Iterator[Holding]:
    """Return one with p-7, which code that is fixed can apply, and p-8, which nothing can."""
    lot = Holding(f"sqlite:///{tmp_path / 'verdict.db'}")
    lot.hold("p-7", PositionTransferred(client="bob"))
    lot.happen("p-8", opened("cleo"), PositionClosed(), PositionAdjusted(amount=2))
    yield lot
    lot.close()


@pytest.fixture
def blocked(run: Run, tmp_path: Path, lot: Holding) -> Blocked:
    """Return a function that calls `verdict blocked`."""

    def call(*arguments: object, stdin: str | None = None) -> Verdict:
        return run("blocked", *arguments, "--data-dir", tmp_path, stdin=stdin)

    return call


def test_what_is_blocked_is_listed_and_shown(blocked: Blocked) -> None:
    listed, table = blocked("list", "--json"), blocked("list")
    [shown], fields = blocked("show", P8, "--json").lines, blocked("show", P8).stdout

    assert [(one["id"], one["what"], one["behind"]) for one in listed.lines] == [
        (P7, "PositionTransferred, version 2", 1),
        (P8, "PositionAdjusted, version 3", 0),
    ]
    assert "NoRowError: there is no row for this event to change" in listed.lines[1]["error"]
    assert P7 in table.stdout
    assert (table.exit_code, table.stderr) == (0, "")
    assert shown["payload"] == {"type": "PositionAdjusted", "amount": 2}
    assert (shown["replacement"], shown["interventions"]) == (None, [])
    assert '{"type": "PositionAdjusted", "amount": 2}' in fields


@pytest.mark.proves("B-09")
def test_one_is_edited_and_retried(blocked: Blocked, lot: Holding) -> None:
    payload = json.dumps({"type": "PositionTransferred", "client": "eve"})

    edited = blocked("edit", P7, "--file", "-", "--reason", "a test", stdin=payload)
    replayed = blocked("retry", P7)

    assert (edited.exit_code, edited.stdout) == (0, "")
    assert f"{P7} is edited: `verdict blocked retry {P7}` applies it" in edited.stderr
    assert f"{P7} is applied, and all that waited behind it" in replayed.stderr
    assert lot.read_side.holders() == {"bob": 1}
    assert [one["id"] for one in blocked("list", "--json").lines] == [P8]


def test_one_that_fails_again_stays_and_ends_with_1(blocked: Blocked) -> None:
    failed = blocked("retry", P8)

    assert (failed.exit_code, failed.stdout) == (1, "")
    assert f"{P8} still cannot be applied, and 0 wait behind it: record" in failed.stderr
    assert "`verdict blocked edit` or `skip` it" in failed.stderr
    assert [one["id"] for one in blocked("list", "--json").lines] == [P7, P8]


def test_one_is_skipped_with_a_reason_by_the_user(
    blocked: Blocked, lot: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")

    assert blocked("skip", P8, "--reason", "never open").exit_code == 0
    assert blocked("skip", P7, "--reason", "mistyped").exit_code == 0

    assert lot.interventions(("kind", "operator", "reason")) == [
        ("evict", "ada", "never open"),
        ("evict", "ada", "mistyped"),
    ]
    nothing = blocked("list")
    assert (nothing.stdout, nothing.stderr) == ("", "none\n")
    assert lot.read_side.holders() == {"bob": 1}


def test_what_is_wrong_is_said(blocked: Blocked, run: Run, tmp_path: Path) -> None:
    nothing = tmp_path / "empty"
    reason = ("--reason", "a test")
    for code, said, answer in (
        (2, "Missing option '--reason'", blocked("skip", P7)),
        (2, "give the reason", blocked("skip", P7, "--reason", " ")),
        (1, "nothing waits at 'us_holder/position/p-0'",
         blocked("skip", "us_holder/position/p-0", *reason)),
        (1, "client: Input should be a valid string",
         blocked("edit", P7, "--file", "-", *reason, stdin='{"client": 7}')),
        (5, "there is no read side at", run("blocked", "list", "--data-dir", nothing)),
    ):  # fmt: skip
        assert (answer.exit_code, said in answer.stderr) == (code, True), answer
    assert not nothing.exists()


@pytest.mark.parametrize("records", ["position.events:0", "position.events:0:5-5", "here"])
def test_what_is_no_range_of_records_is_not_skipped(run: Run, tmp_path: Path, records: str) -> None:
    refused = run("skip", records, "--reason", "a test", "--data-dir", tmp_path)

    assert refused.exit_code == 2
    assert f"'{records}' is no range of records" in " ".join(
        refused.stderr.replace("│", "").split()
    )
