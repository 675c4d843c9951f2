"""Who decided what is kept forever, and why: a text that can be kept and shown."""

import pytest
import typer

from tests.cli.conftest import Run
from verdict.cli.options import operator_identity


def test_a_reason_is_kept_on_one_line() -> None:
    assert operator_identity(" ada ", "the disk\n is\tgone ") == ("ada", "the disk is gone")


@pytest.mark.parametrize(
    ("who", "why", "said"),
    [
        ("ada", " \n", "give the reason"),
        ("ada", "odd \udcff", r"'odd \\udcff' is no text in UTF-8"),
        ("\udcff", "gone", "is no text in UTF-8"),
    ],
)
def test_what_could_not_be_kept_or_shown_is_refused(who: str, why: str, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        operator_identity(who, why)


def test_events_are_restored_for_a_reason_only(run: Run) -> None:
    refused = run("recover", "--restore-events")

    assert refused.exit_code == 2
    assert "give the reason" in refused.stderr
