"""What does not exist is refused: with exit code 2 what was mistyped, with 1 what is not there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.documents import ROOT

ORDER = ("--expected-version", "ANY", "--id", "x")
MISTYPED = [
    *(
        (*verb, *option)
        for verb in (("status",), ("status", "--check"), ("sql", "SELECT 1"), ("config", "show"))
        for option in (
            ("--database-url", "foo://bar"),
            ("--database-url", "garbage"),
            ("--bootstrap-servers", "::::"),
            ("--bootstrap-servers", "localhost:99999"),
            ("--bootstrap-servers", ","),
            ("--data-dir", __file__),
            ("--deployment", "a b"),
        )
    ),
    *((verb, "--data-dir", __file__) for verb in ("up", "page", "recover")),
    *((verb, "nosuch", "x") for verb in ("state", "history", "verify")),
    ("tail", "events", "nosuch"),
    ("tail", "nosuch"),
    ("tail", "events", "--from", "garbage"),
    ("describe", "nosuch"),
    ("describe", "order", "NoSuch"),
    ("send", "nosuch", "DeleteOrder", *ORDER),
    ("send", "order", "NoSuch", *ORDER),
    ("send", "order", "DeleteOrder", *ORDER, "--deadline", "2024-01-01Z"),
    ("send", "order", "DeleteOrder", *ORDER, "--wait", "1", "--projection", "nosuch"),
    *(("projection", verb, "nosuch") for verb in ("rebuild", "verify", "promote", "rollback")),
    ("export", "nosuch", "--as-of", "now", "--to", "-"),
    ("export", "us_holder", "--as-of", "garbage", "--to", "-"),
    ("state", "order", "x", "--at", "garbage"),
    ("sql", ""),
    ("schemas", "check", "--registry", "garbage"),
    ("run", "nosuch"),
    ("run", "projections", "nosuch"),
]


@pytest.mark.parametrize("verb", MISTYPED, ids=" ".join)
def test_what_is_mistyped_ends_with_2_and_what_is_wrong(run: Run, verb: tuple[str, ...]) -> None:
    answer = run(*verb)

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr


@pytest.mark.process
def test_an_application_that_is_not_there_ends_every_verb_with_2(tmp_path: Path) -> None:
    """In a process of its own: an application's name is handed down to others."""
    verbs = (["status"], ["config", "show"], ["sql"], ["blocked", "list"], ["describe"])
    names = ("nosuch:app", "nosuch", "os:path", "os:nosuch", "compose.nosuch:app", "..:app")
    calls = [[*verb, "--app", name] for verb in verbs for name in names]
    script = (
        "import json, sys; from verdict.cli.main import app\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    try: app(arguments)\n"
        "    except SystemExit as ended: print('!', ended.code, file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, json.dumps(calls)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    said = ran.stderr.splitlines()
    assert ran.stdout == ""
    assert said[1::2] == ["! 2"] * len(calls)
    assert all(
        "names no application" in one or "nosuch" in one or "os:" in one for one in said[::2]
    )


def test_what_is_not_there_ends_with_1_and_is_named(verdict: Run) -> None:
    not_there = [
        ("state", "order", "nosuch"),
        ("state", "order", "nosuch", "--at-version", "3"),
        ("state", "order", "nosuch", "--at", "2999-01-01T00:00:00Z"),
    ]
    for verb in not_there:
        answer = verdict(*verb)
        assert (answer.exit_code, answer.stdout) == (1, ""), verb
        assert ("2999" if "--at" in verb else "nosuch") in answer.stderr, verb
    mistyped = [
        ("tail", "events", "order", "--no-follow", "--from", "9:0"),
        ("tail", "events", "order", "--no-follow", "--from", "0:999999"),
        ("status", "--database-url", "foo://bar"),
        ("status", "--bootstrap-servers", "::::"),
    ]
    for verb in mistyped:
        assert verdict(*verb).exit_code == 2, verb


def test_a_deployment_that_is_not_there_ends_with_1_and_is_named(verdict: Run) -> None:
    for verb in (
        ("status",),
        ("status", "--check"),
        ("verify",),
        ("sql", "SELECT 1"),
        ("projection", "list"),
        ("blocked", "list"),
        ("tail", "events", "--no-follow"),
        ("state", "order", "x"),
        ("history", "order", "x"),
        ("send", "order", "DeleteOrder", *ORDER),
        ("export", "us_holder", "--as-of", "now", "--to", "-"),
    ):
        answer = verdict(*verb, "--deployment", "nosuch")
        assert answer.exit_code == 1, verb
        assert "there is no deployment 'nosuch'" in answer.stdout + answer.stderr, verb
