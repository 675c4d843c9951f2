"""What is said while something is done holds names that others chose."""

import pytest

from verdict.cli.progress import show_progress


def test_a_name_that_looks_like_markup_is_said_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    with show_progress("projection [/b]") as tell:
        tell("a:b:c [/b] [bold] \x1b[2J")

    assert "a:b:c [/b] [bold] \\x1b[2J" in capsys.readouterr().err
