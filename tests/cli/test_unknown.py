"""What does not exist is refused: with exit code 2 what was mistyped, with 1 what is not there."""

import pytest

from tests.cli.conftest import Run

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
    *((verb, "--data-dir", __file__) for verb in ("up", "serve", "recover")),
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
    ("state", "order", "--at-version", "2"),
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


@pytest.mark.parametrize("verb", ["status", "sql", "describe"])
@pytest.mark.parametrize(
    "name", ["nosuch:app", "nosuch", "os:path", "compose.nosuch:app", "..:app"]
)
def test_an_application_that_is_not_there_ends_with_2(run: Run, verb: str, name: str) -> None:
    answer = run(verb, "--app", name)

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert any(one in answer.stderr for one in ("names no application", "nosuch", "os:path"))


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
