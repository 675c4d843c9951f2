"""`verdict trace` and `verdict why` on what happened in `filled`."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copytree
from sqlite3 import connect

import pytest

from tests.application import APPLICATION
from tests.cli.conftest import Verdict, environment, run
from tests.page.filled import FLOW, LATE, ODD, PERSONAL

__all__ = ["environment", "run"]  # fixtures

APPLICATION = APPLICATION  # before a test works in a folder of its own


@pytest.fixture
def verdict(run: Callable[..., Verdict], filled: Path) -> Callable[..., Verdict]:
    return lambda *arguments: run(*arguments, "--data-dir", filled)


def test_a_flow_is_shown_as_a_tree(verdict: Callable[..., Verdict]) -> None:
    lines = verdict("trace", FLOW).stdout.splitlines()

    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 4, 6, 0]
    assert lines[0].startswith("RecordInvoice to invoice 'inv-1' ACCEPTED")
    assert lines[2].endswith("asked for by award_points")
    assert "ALREADY_EXISTS: expected no invoice 'inv-1'" in lines[4]


def test_a_flow_as_json_is_one_object_for_each_command_that_began_it(
    verdict: Callable[..., Verdict],
) -> None:
    recorded, refused = verdict("trace", FLOW, "--json").lines

    assert recorded["events"][0]["asked"][0]["policy"] == "award_points"
    assert refused["events"] == []


def test_why_shows_who_won_and_what_to_send(verdict: Callable[..., Verdict]) -> None:
    said = verdict("why", LATE)

    assert said.exit_code == 0
    assert said.stdout.startswith("ModifyOrder to order 'o-1' VERSION_CONFLICT: expected version 1")
    assert "expected_version 2, if the rules agree" in said.stdout
    assert "OrderFilled   first" in said.stdout
    [record] = verdict("why", LATE, "--json").lines
    assert record["winners"][0]["command_id"] == "first"


def test_why_of_an_accepted_one_shows_what_it_caused(verdict: Callable[..., Verdict]) -> None:
    assert "caused" in verdict("why", "first").stdout


def test_payloads_are_masked_unless_asked_for_as_an_auditor(
    verdict: Callable[..., Verdict],
) -> None:
    masked, whole = verdict("trace", FLOW).stdout, verdict("trace", FLOW, "--as", "auditor").stdout

    assert not [one for one in PERSONAL if one in masked]
    assert [one for one in PERSONAL if one in whole] == [*PERSONAL]


@pytest.mark.proves("G-07")
@pytest.mark.parametrize(
    "asked",
    [["trace", FLOW], ["why", "first"], ["trace", FLOW, "--json"], ["why", "first", "--json"]],
)
def test_an_event_of_an_unknown_type_is_told_without_its_fields(
    run: Callable[..., Verdict], filled: Path, tmp_path: Path, asked: list[str]
) -> None:
    """Nobody knows what of it is personal: as of a newer version, which ran here before."""
    copytree(filled, tmp_path / "newer")
    with closing(connect(tmp_path / "newer" / "verdict.db")) as database, database:
        database.execute("UPDATE event_archive_v1 SET event_type = 'Newer'")

    said = run(*asked, "--data-dir", tmp_path / "newer")

    assert said.exit_code == 0
    assert '"payload": null' in said.stdout if "--json" in asked else "not shown" in said.stdout


@pytest.mark.parametrize("asked", [("trace", FLOW), ("why", "first")])
def test_a_note_says_where_fields_of_events_come_from_that_a_reader_sees(
    verdict: Callable[..., Verdict], asked: tuple[str, str]
) -> None:
    assert "as the columns of the archive have them" in verdict(*asked).stderr
    assert verdict(*asked, "--as", "auditor").stderr == ""


def test_what_others_wrote_does_not_steer_a_terminal(verdict: Callable[..., Verdict]) -> None:
    said = verdict("trace", ODD).stdout + verdict("why", ODD).stdout
    assert "\u202e" not in said
    assert said.count("\\n  2 OrderDeleted") == 2, "an event that nobody decided on"
    assert "\n  2 OrderDeleted" not in said


@pytest.mark.parametrize("verb", ["trace", "why"])
def test_what_is_not_known_is_said_with_exit_code_1(
    verdict: Callable[..., Verdict], verb: str
) -> None:
    said = verdict(verb, "nobody")

    assert (said.exit_code, said.stdout) == (1, "")
    assert "is known to be answered" in said.stderr
