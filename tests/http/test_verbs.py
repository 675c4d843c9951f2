"""`verdict trace`, `explain`, `history` and `state` on what happened in `filled`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.cli.conftest import Verdict, environment, run
from tests.http.filled import FLOW, LATE, ODD, PERSONAL, altered

__all__ = ["environment", "run"]  # fixtures

APPLICATION = APPLICATION  # before a test works in a folder of its own
Run = Callable[..., Verdict]
MISSING = [  # a change to the tables of the order `gone`, and what its history says then
    (
        "DELETE FROM event_archive_v1 WHERE version = 1 AND",
        "the versions 1 are missing in the archive",
    ),
    (
        "DELETE FROM event_archive_v1 WHERE version = 2 AND",
        "the versions 2, which outcomes name, are not in the archive (yet)",
    ),
    (
        "DELETE FROM outcome_v1 WHERE to_version = 1 AND",
        "the outcomes of the commands that caused the versions 1 are not in the view",
    ),
    (
        "UPDATE event_archive_v1 SET value = x'00' WHERE version = 1 AND",
        "version 1 of order 'gone', was altered: its value has the SHA-256",
    ),
]


@pytest.fixture
def verdict(run: Run, filled: Path) -> Run:
    return lambda *arguments: run(*arguments, "--data-dir", filled)


def test_a_flow_is_shown_as_a_tree_without_what_is_personal(verdict: Run) -> None:
    masked, whole = verdict("trace", FLOW), verdict("trace", FLOW, "--as", "auditor")
    lines = masked.stdout.splitlines()

    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 4, 6, 0]
    assert lines[0].startswith("RecordInvoice to invoice 'inv-1' ACCEPTED")
    assert lines[2].endswith("sent by award_points")
    assert "ALREADY_EXISTS: expected no invoice 'inv-1'" in lines[4]
    assert not [one for one in PERSONAL if one in masked.stdout]
    assert [one for one in PERSONAL if one in whole.stdout] == [*PERSONAL]


def test_why_shows_who_won_and_what_to_send(verdict: Run) -> None:
    said = verdict("explain", LATE)

    assert said.exit_code == 0
    assert said.stdout.startswith("ModifyOrder to order 'o-1' VERSION_CONFLICT: expected version 1")
    assert "expected_version 2, if the rules agree" in said.stdout
    assert "OrderFilled   first" in said.stdout
    [record] = verdict("explain", LATE, "--json").lines
    assert record["winners"][0]["command_id"] == "first"


@pytest.mark.proves("G-07")
@pytest.mark.parametrize("asked", [("trace", FLOW), ("explain", "first")])
def test_where_the_fields_of_events_come_from_is_said(
    run: Run, verdict: Run, filled: Path, tmp_path: Path, asked: tuple[str, str]
) -> None:
    """Of an unknown type it is unknown what is personal: a newer version may have run here."""
    change = "UPDATE event_archive_v1 SET event_type = 'Newer'"
    newer = altered(tmp_path / "newer", change, of=filled)
    unknown, as_json = (run(*asked, *more, "--data-dir", newer) for more in ((), ("--json",)))

    assert "read from the columns of the archive" in verdict(*asked).stderr
    assert verdict(*asked, "--as", "auditor").stderr == ""
    assert (unknown.exit_code, "not shown" in unknown.stdout) == (0, True)
    assert (as_json.exit_code, '"payload": null' in as_json.stdout) == (0, True)


def test_a_history_joins_each_command_with_its_outcome_and_events(verdict: Run) -> None:
    found, shown = verdict("history", "order", "o-1", "--json"), verdict("history", "order", "o-1")

    assert [
        (one["response"]["reason"], [event["version"] for event in one["events"]])
        for one in found.lines
    ] == [(None, [1]), (None, [2]), ("VERSION_CONFLICT", []), ("BUSINESS_RULE", [])]
    assert all(event["checked"] for one in found.lines for event in one["events"])
    assert "BUSINESS_RULE: cannot fill 99" in " ".join(shown.stdout.split())
    assert found.exit_code == shown.exit_code == 0
    assert "read so far: order.events:" in shown.stderr
    assert "order.responses:" in shown.stderr


@pytest.mark.proves("G-07")
@pytest.mark.parametrize(("change", "said"), MISSING)
def test_a_history_says_what_is_missing_or_altered_with_exit_code_1(
    run: Run, filled: Path, tmp_path: Path, change: str, said: str
) -> None:
    less = altered(tmp_path / "less", f"{change} aggregate_id = 'gone'", of=filled)

    found = run("history", "order", "gone", "--json", "--data-dir", less)

    assert (found.exit_code, len(found.lines)) == (1, 3)
    assert said in found.stderr
    assert found.stderr.count("version") == said.count("version")
    assert found.stderr.endswith("verdict: the history of order 'gone' is not complete\n")


def test_the_state_of_all_aggregates_is_that_of_the_view(
    run: Run, verdict: Run, filled: Path, tmp_path: Path
) -> None:
    found, shown = verdict("state", "order", "--json"), verdict("state", "order")
    blocked = (
        "INSERT INTO projection_blocked_v1 VALUES "
        "('order_state', 1, 'order', 'o-1', 3, 4, '2026-11-21T12:00:00.000Z', NULL)"
    )
    held = altered(tmp_path / "held", blocked, of=filled)
    blocking = run("state", "order", "--json", "--data-dir", held)

    told = {one["aggregate_id"]: (one["version"], one["life_cycle"]) for one in found.lines}
    assert told == {"o-1": (2, "ACTIVE"), "gone": (2, "DELETED"), ODD: (1, "ACTIVE")}
    assert [one["state"] for one in found.lines if one["aggregate_id"] == "gone"] == [None]
    assert {one["state"]["quantity"] for one in found.lines if one["state"]} == {10}
    assert shown.stdout.split()[:3] == ["id", "version", "life_cycle"]
    assert found.exit_code == shown.exit_code == 0
    assert (blocking.exit_code, len(blocking.lines)) == (1, 3)
    assert "order 'o-1' is shown without its events from version 3 on" in blocking.stderr
    assert "order_state blocks 1 aggregates: see `verdict blocked list`" in blocking.stderr


def test_what_others_wrote_does_not_steer_a_terminal(verdict: Run) -> None:
    said = verdict("trace", ODD).stdout + verdict("explain", ODD).stdout
    assert "\u202e" not in said
    assert said.count("\\n  2 OrderDeleted") == 2, "an event without a decision"
    assert "\n  2 OrderDeleted" not in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("trace", "nobody"), "the read side knows no"),
        (("explain", "nobody"), "the read side knows no"),
        (("history", "order", "nobody"), "no order 'nobody': no command to it has an outcome"),
    ],
)
def test_what_is_not_known_is_said_with_exit_code_1(
    verdict: Run, asked: tuple[str, ...], said: str
) -> None:
    found = verdict(*asked)

    assert (found.exit_code, found.stdout) == (1, "")
    assert said in found.stderr
