"""Who decided what is kept for ever, and why: a text that can be kept and shown."""

import pytest
import typer

from verdict.cli.deciding_person import MOST_CHARACTERS, decided_by


def test_a_reason_is_kept_on_one_line() -> None:
    assert decided_by(" ada ", "the disk\n is\tgone ") == ("ada", "the disk is gone")


@pytest.mark.parametrize(
    ("who", "why", "said"),
    [
        ("ada", " \n", "say why"),
        ("ada", "odd \udcff", r"'odd \\udcff' is no text in UTF-8"),
        ("\udcff", "gone", "is no text in UTF-8"),
        ("ada", "x" * (MOST_CHARACTERS + 1), "has 1,001 characters, and 1,000 are kept"),
    ],
)
def test_what_could_not_be_kept_or_shown_is_refused(who: str, why: str, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        decided_by(who, why)
