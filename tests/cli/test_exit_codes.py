import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.main import get_command

from compose.application import app as application
from tests.cli.conftest import Run
from verdict.adapters.kafka import reader
from verdict.cli.application import IN_A_CHECKOUT
from verdict.cli.main import app
from verdict.cli.verbs import VERBS, loaded
from verdict.model.application import Verb

VERDICT = (sys.executable, "-c", "from verdict.cli.main import main; main()")
ROOT = Path(__file__).parents[2]


@contextmanager
def process(*arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        [*VERDICT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT), "VERDICT_APP": IN_A_CHECKOUT},
    ) as started:
        try:
            yield started
        finally:
            started.kill()


@pytest.mark.process
def test_help_lists_every_verb_and_loads_none_of_them() -> None:
    heavy = "'pyspark', 'sqlalchemy', 'confluent_kafka', 'verdict.cli.send', 'compose.demo.verb'"
    script = (
        "import sys; from verdict.cli.main import app\n"
        "for wanted in (['--version'], ['new', '--help'], ['new', 'aggregate', '--help']):\n"
        "    try: app(wanted)\n"
        "    except SystemExit as ended: assert ended.code == 0\n"
        "assert 'verdict.application' not in sys.modules, 'no application is needed'\n"
        "try: app(['--help'])\n"
        f"finally: assert not {{{heavy}}} & set(sys.modules), 'help is slow'\n"
    )

    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)

    assert shown.returncode == 0, shown.stderr
    for verb in (*VERBS, *application.verbs):
        assert verb.summary in shown.stdout


@pytest.mark.parametrize(
    "verb",
    [
        ("send", "order", "DeleteOrder", "--id", "x", "--expected-version", "1"),
        ("tail", "events"),
        ("state", "order", "x"),
        ("topics", "check"),
        ("status",),
    ],
)
def test_without_a_service_every_verb_ends_with_5_and_names_the_next_command(
    run: Run, verb: tuple[str, ...]
) -> None:
    answer = run(*verb, "--data-dir", "nothing-here")

    assert answer.exit_code == 5
    assert "start `verdict up`" in " ".join((answer.stdout + answer.stderr).split())


def test_an_unreachable_kafka_ends_with_5_and_the_reason(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "ANSWER_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

    answer = run("tail", "events", "--bootstrap-servers", address)

    assert answer.exit_code == 5
    assert f"cannot reach Kafka at {address}" in answer.stderr
    assert "Connection refused" in answer.stderr


@pytest.mark.parametrize("verb", [("up",), ("sql", "SELECT 1"), ("status",)])
def test_an_unreachable_database_ends_with_5_and_without_its_password(
    run: Run, verb: tuple[str, ...]
) -> None:
    url = "postgresql://ada:secret@127.0.0.1:1/db"

    answer = run(*verb, "--data-dir", "nothing-here", "--database-url", url)

    said = " ".join((answer.stdout + answer.stderr).split())
    assert answer.exit_code == 5
    assert "ada:***@127.0.0.1:1/db: " in said
    assert "Connection refused" in said
    assert "secret" not in said


OF_ONE = [
    *((verb, "order") for verb in ("history", "state", "verify")),
    ("send", "order", "DeleteOrder", "--expected-version", "1", "--id"),
    ("tail", "events", "order", "--no-follow", "--id"),
]


@pytest.mark.parametrize("verb", OF_ONE, ids=" ".join)
@pytest.mark.parametrize("name", ["", "é" * 257])
def test_an_id_that_no_aggregate_can_have_ends_with_2(
    run: Run, verb: tuple[str, ...], name: str
) -> None:
    answer = run(*verb, name)

    said = " ".join(answer.stderr.replace("│", " ").split())
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert f"an aggregate's id has 1 to 256 characters of Unicode, this one has {len(name)}" in said


def test_ctrl_c_ends_with_130_and_without_a_traceback(verdict: Run) -> None:
    verdict("send", "order", "DeleteOrder", "--id", "x", "--expected-version", "ANY")
    with process("tail", "commands", "order", "--from", "beginning") as tailing:
        assert tailing.stdout is not None
        assert tailing.stderr is not None
        assert tailing.stdout.readline().startswith(b"{")  # it reads, and waits for more
        tailing.send_signal(signal.SIGINT)
        assert tailing.wait() == 130
        assert tailing.stderr.read() == b""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_file_that_is_sent_says_how_much_was_sent_when_it_is_stopped(
    verdict: Run, number: signal.Signals, code: int
) -> None:
    """SIGTERM was silent."""
    name = f"stopped-{code}"
    line = {"aggregate": "order", "aggregate_id": name, "command_id": name, "payload": {}}
    with (
        process("tail", "commands", "order", "--id", name, "--from", "beginning") as tailing,
        process("send", "--file", "-") as sending,
    ):
        assert sending.stdin is not None
        assert sending.stderr is not None
        assert tailing.stdout is not None
        sending.stdin.write(json.dumps(line).encode() + b"\n")
        sending.stdin.flush()
        assert name.encode() in tailing.stdout.readline()  # it waits for the next line
        sending.send_signal(number)
        assert sending.wait() == code
        said = sending.stderr.read().decode()

    assert said == (
        "1 sent; stopped before the end: send the file again, each command is decided once\n"
    )


def test_a_bug_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**flags: object) -> None:
        raise ZeroDivisionError("a planted bug")

    monkeypatch.setattr("verdict.cli.config.settings_of", broken)

    with pytest.raises(ZeroDivisionError, match="a planted bug"):
        run("config", "show")


@pytest.mark.process
def test_what_the_system_has_too_little_of_is_named_without_a_traceback(tmp_path: Path) -> None:
    """A limit of 0 bytes a file, as a full disk is not to be had everywhere."""
    up = subprocess.run(
        [*VERDICT, "up", "--data-dir", str(tmp_path / "d")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )

    assert up.returncode == 1
    assert "the system refused ([Errno 27] File too large): lift the limit" in up.stderr
    assert "Traceback" not in up.stderr


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_takes_the_address_of_its_deployment_and_leaves_lines_to_the_terminal(
    verb: Verb,
) -> None:
    where = {"--app", "--deployment", "--data-dir", "--bootstrap-servers", "--database-url"}
    command = loaded(verb)

    leaves = getattr(command, "commands", {verb.name: command}).values()
    for leaf in leaves:
        assert verb.alone or {flag for option in leaf.params for flag in option.opts} >= where
    for one in (get_command(app), command, *leaves):
        paragraphs = (one.help or "").split("\n\n")
        assert [part for part in paragraphs if "\n" in part] == []
