"""What a verb logs on its way is for people."""

import logging

import pytest

from verdict.cli.logged import log_messages_only


def test_what_rules_raise_is_said_without_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`blocked skip` showed three of them to who had done what was advised."""
    monkeypatch.setattr(logging, "lastResort", logging.StreamHandler())
    log = logging.Logger("a verb")
    log_messages_only()

    try:
        raise AssertionError
    except AssertionError as error:
        log.error("order_state holds %s", "\x1bo-1", exc_info=error)

    assert capsys.readouterr().err == "order_state holds \\x1bo-1\n"
