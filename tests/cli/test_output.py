"""Tables for people: what is in them is never broken in the middle."""

import pytest
from rich.text import Text

from verdict.cli.render import pairs, show, table

ID = "an-id-that-somebody-copies-" + "x" * 60
ERROR = "one sentence that says what happened and what can be done about it now"


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    show(table(("id", "error"), [(ID, ERROR), ("b", None)]), pairs([("id", ID), ("n", 7)]))
    plain = Text.from_ansi(capsys.readouterr().out).plain
    return [line.rstrip() for line in plain.splitlines()]


def test_off_a_terminal_a_table_is_as_wide_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    lines = shown(capsys)

    assert lines[2] == f"{ID}   {ERROR}"
    assert len(lines) == 6


def test_what_is_too_wide_for_a_terminal_is_shown_record_by_record(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal

    assert shown(capsys) == [
        "record 1",
        f"  id     {ID}",
        f"  error  {ERROR}",
        "record 2",
        "  id     b",
        "  error  -",
        f"id  {ID}",
        "n   7",
    ]


def test_numbers_are_aligned_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    show(table(("id", "lag"), [("a", 7), ("b", None), ("c", 100)]))

    assert capsys.readouterr().out.splitlines()[2:] == ["a      7", "b      -", "c    100"]


def test_names_that_others_chose_are_neither_markup_nor_pictures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show("order 'acct:b:9' [/b]", table(("'[/b]'", "a[bold]b"), [("acct:b:9", "[red]x")]))

    said, header, _, row = capsys.readouterr().out.splitlines()
    assert said == "order 'acct:b:9' [/b]"
    assert header.split() == ["'[/b]'", "a[bold]b"]
    assert row.split() == ["acct:b:9", "[red]x"]
