"""Ids and messages of others cannot steer the terminal of who reads them."""

import json
import logging

import pytest
from rich.text import Text

from tests.cli.conftest import Run
from verdict.cli.main import log_messages_only
from verdict.cli.render import note, show, show_json, show_progress, table
from verdict.service.log_output import EscapingFormatter
from verdict.wire.control_characters import escape, escape_json, escape_lines, escape_text

CLEAR = "a\x1b[2Jb"
HOSTILE = [CLEAR, "a\x9b2Jb", "a\x07b", "a\rb", "a\x00b", "a\x7fb", "a\u202eb", "a\u2066b"]
PLAIN = ["ada", "Zoë", "日本", "a\\x1b", "👩‍💻", "[bold]x[/bold]"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_steers_a_terminal_is_spelled_out(text: str) -> None:
    for shown in (escape(text), escape_lines(text)):
        assert shown.isprintable()
        assert "\\" in shown
    assert escape_text(Text(text, "red")).plain.isprintable()


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_are_shown_as_they_are(text: str) -> None:
    assert escape(text) == escape_lines(text) == text
    assert escape_text(Text(text, "red")) == Text(text, "red")


@pytest.mark.parametrize("text", [*HOSTILE, *PLAIN, "a\nb"])
def test_json_means_the_same(text: str) -> None:
    line = escape_json(json.dumps({"id": text}, ensure_ascii=False))

    assert json.loads(line) == {"id": text}
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0x2028 <= ord(c) < 0x206A for c in line
                   if c != "\u200d")  # fmt: skip


@pytest.mark.proves("S-03")
def test_nothing_of_it_gets_through_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE:
        show(table(("id", text), [[text, Text(text)]]), text, Text(text))
        note(text)
        show_json({"id": text})
    said = capsys.readouterr()

    for stream in (said.out, said.err):
        assert stream
        assert all(c.isprintable() or c == "\n" for c in stream)


def test_a_line_s_end_in_a_cell_makes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    show(table(("id",), [["a\nb"]]))

    assert "a\\nb" in capsys.readouterr().out


def test_an_error_and_a_line_of_the_log_are_spelled_out(run: Run) -> None:
    refused = run("sql", f'SELECT * FROM "{CLEAR}"', "--database-url", "mysql\x1b[2J://h/d")
    record = logging.makeLogRecord({"msg": "held %s", "args": (CLEAR,)})

    assert "\x1b" not in refused.stderr
    assert EscapingFormatter("%(message)s").format(record) == r"held a\x1b[2Jb"


def test_a_verb_logs_what_rules_raise_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging, "lastResort", logging.StreamHandler())
    log = logging.Logger("a verb")
    log_messages_only()

    try:
        raise AssertionError
    except AssertionError as error:
        log.error("order_state holds %s", "\x1bo-1", exc_info=error)

    assert capsys.readouterr().err == "order_state holds \\x1bo-1\n"


def test_a_name_that_looks_like_markup_is_shown_as_it_is_while_something_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    with show_progress("projection [/b]") as report:
        report("a:b:c [/b] [bold] \x1b[2J")

    assert "a:b:c [/b] [bold] \\x1b[2J" in capsys.readouterr().err
