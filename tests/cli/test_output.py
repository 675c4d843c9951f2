"""Tables for people: what is in them is never broken in the middle."""

from io import StringIO
from typing import cast

import pytest
from rich.console import Console
from rich.text import Text

from verdict.cli.render import add_rows, fit_to_width, show, table

ID = "an-id-that-somebody-copies-" + "x" * 60
ERROR = "one sentence that says what happened and what can be done about it now"


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    show(add_rows(table("id", "error"), [(ID, ERROR), ("b", None)]))
    plain = Text.from_ansi(capsys.readouterr().out).plain
    return [line.rstrip() for line in plain.splitlines()]


def test_off_a_terminal_a_table_is_as_wide_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    lines = shown(capsys)

    assert lines[2] == f"{ID}   {ERROR}"
    assert len(lines) == 4


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
    ]


def test_the_widest_column_is_broken_between_words_when_enough_of_it_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")

    show(add_rows(table("id", "error"), [(ID[:26], ERROR), ("b", None)]))

    plain = Text.from_ansi(capsys.readouterr().out).plain
    _, _, *lines = (line.rstrip() for line in plain.splitlines())
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith(ID[:26])
    assert " ".join(" ".join(lines[:-1]).replace(ID[:26], "").split()) == ERROR
    assert [len(line) - len(line.lstrip()) for line in lines[1:-1]] == [29] * (len(lines) - 2)


def test_lines_are_broken_between_words_and_begin_further_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts, and tables of two columns; a word that is too long stays whole."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")

    show(Text(f"  {ERROR}"), add_rows(table("", ""), [("id", ID), ("error", ERROR)]))

    plain = Text.from_ansi(capsys.readouterr().out).plain
    assert [line.rstrip() for line in plain.splitlines()] == [
        "  one sentence that says what happened",
        "    and what can be done about it now",
        f"id     {ID}",
        "error  one sentence that says what",
        "       happened and what can be done",
        "       about it now",
    ]


def test_names_that_others_chose_are_neither_markup_nor_pictures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show("order 'acct:b:9' [/b]", add_rows(table("'[/b]'", "a[bold]b"), [("acct:b:9", "[red]x")]))

    said, header, _, row = capsys.readouterr().out.splitlines()
    assert said == "order 'acct:b:9' [/b]"
    assert header.split() == ["'[/b]'", "a[bold]b"]
    assert row.split() == ["acct:b:9", "[red]x"]


def test_a_page_that_is_drawn_again_breaks_nothing_in_the_middle() -> None:
    made = add_rows(table("projection", "owner"), [["us_holder", "0123456789" * 3]])
    narrow, broad = Console(width=40, file=StringIO()), Console(width=60, file=StringIO())

    assert fit_to_width(broad, made) is made
    narrow.print(fit_to_width(narrow, made), soft_wrap=True)
    assert "0123456789" * 3 in cast(StringIO, narrow.file).getvalue()
