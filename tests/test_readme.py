"""What the documents say is there is there, and README's commands do what it shows.

A little longer than others: each of README's tables has its counterpart in the code.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from subprocess import PIPE
from tomllib import loads
from types import ModuleType

import pytest
from sqlalchemy import inspect

from tests.documents import README, ROOT, Shell, blocks, code, commands, files, shape, table
from tests.e2e.deployment import VERDICT, await_ready, stop
from verdict.cli import letters, projection
from verdict.cli.verbs import VERBS
from verdict.configuration.settings import Settings
from verdict.model.reason import Reason
from verdict.projection.database import create_read_side, open_database
from verdict.projection.declared import projections
from verdict.projection.processor_tables import readable
from verdict.wire.response import Response
from verdict.wire.topics import FOREVER, Topic, Topics

GUARANTEES = (ROOT / "GUARANTEES.md").read_text()
ROWS = (
    *(f"C-{number:02}" for number in range(1, 19)),
    *("H-01", "H-02", "H-03", "H-04", "H-05", "H-06", "H-07", "H-08", "H-09", "H-10"),
    *(
        "O-01",
        "O-02",
        "O-03",
        "T-01",
        "A-01",
        "A-02",
        "A-03",
        "A-04",
        "A-05",
        "A-06",
        "A-07",
        "B-06",
        "B-07",
        "B-09",
        "P-01",
        "P-02",
        "P-03",
        "P-04",
        "P-05",
        "P-06",
        "P-07",
        *(f"R-{number:02}" for number in range(1, 9)),
        "U-02",
    ),
)
NAMED_AS_MISSING: set[str] = set()
PACKAGES = ("schemas", "commands", "aggregates", "projections", "compose", "tests")
FOLLOWS_S = 60


def test_every_target_of_make_is_there() -> None:
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    named = set(re.findall(r"^(?:\$ )?make ([a-z-]+)", code(), re.MULTILINE))

    assert named >= {"check", "demo", "test"}
    assert named <= there


def test_every_verb_is_there_and_named() -> None:
    verbs = {verb.name for verb in VERBS}
    listed = [row[0].strip("`").removeprefix("verdict ") for row in table("verb")]
    used = set(re.findall(r"^(?:\$ )?verdict ([a-z]+)", code(), re.MULTILINE))

    assert sorted(listed) == sorted(verbs)
    assert used - verbs == NAMED_AS_MISSING


@pytest.mark.parametrize("verb", [projection, letters])
def test_every_verb_below_a_verb_is_listed(verb: ModuleType) -> None:
    name = verb.__name__.rpartition(".")[2]
    [said] = [row[1] for row in table("verb") if row[0] == f"`verdict {name}`"]
    commands = verb.app.registered_commands

    assert re.findall(r"`(\w+)`", said) == [
        command.name or command.callback.__name__ for command in commands
    ]


def test_every_setting_has_the_default_that_is_named() -> None:
    named = {row[0].strip("`"): row[1] for row in table("setting")}
    defaults = {name: field.get_default() for name, field in Settings.model_fields.items()}
    defaults["data_dir"] = "per user"

    assert named == {name: _shown(value) for name, value in defaults.items()}


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value) if value else "0" if value == 0 else ""


def test_every_view_has_the_columns_that_are_named(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'read.db'}")
    create_read_side(engine, projections())
    there = {
        name: [column["name"] for column in inspect(engine).get_columns(name)]
        for name in readable(projections())
    }
    engine.dispose()

    named = [(row[0].strip("`"), row[2].split(", ")) for row in table("view")]
    assert sorted(named) == sorted(there.items())


def test_every_topic_is_kept_as_long_as_is_said() -> None:
    named = {name: row[2] for row in table("topic") for name in re.findall(r"`(\S+)`", row[0])}

    assert named == {topic.name: _kept(topic) for topic in Topics().all()}


def _kept(topic: Topic) -> str:
    retention = topic.settings.get("retention.ms")
    if retention is None:
        return "compacted"
    return "for ever" if retention == FOREVER else f"{int(retention) // 86_400_000} days"


def test_every_reason_is_named_with_whether_it_may_be_tried_again() -> None:
    rows = {row[0]: row[2] for row in table("reason")}

    assert set(rows) == set(Reason)
    assert {name for name, advice in rows.items() if "`retriable`" in advice} == {
        reason for reason in Reason if reason.retriable
    }


def test_a_response_has_the_fields_that_are_shown() -> None:
    shown = json.loads(blocks("json")[1])

    assert list(shown) == [field.name for field in fields(Response)]


def test_every_file_that_is_named_is_there() -> None:
    named = set(re.findall(rf"\b(?:{'|'.join(PACKAGES)})/[\w./]*\w", code()))
    named |= set(re.findall(r"\]\((?!http)([^)]+)\)", README))

    missing = {name for name in named if not (ROOT / name).exists()}
    assert missing == {name for name in files("python") if name.partition("/")[0] in PACKAGES}


def test_the_rules_that_are_shown_are_the_rules() -> None:
    shown = [block for block in blocks("python") if block.startswith("# from ")]

    for name, _, parts in (block.removeprefix("# from ").partition("\n") for block in shown):
        rules = (ROOT / name).read_text()
        for part in parts.split("...\n"):
            assert part in rules
    assert len(shown) == 2


@pytest.mark.process
def test_the_aggregate_that_is_shown_decides(tmp_path: Path) -> None:
    """In a copy of the checkout, as README says: three files, one name, `make schemas`."""
    for package in ("schemas", "commands", "aggregates", "projections", "compose"):
        shutil.copytree(ROOT / package, tmp_path / package)
    for name, text in files("python").items():
        if name.startswith(("schemas/", "commands/", "aggregates/", "projections/")):
            (tmp_path / name).write_text(text)
    application = tmp_path / "compose" / "application.py"
    listed = application.read_text().replace("aggregates=(", "aggregates=(parcel, ")
    model = 'ReadModel(name="delivery", key=("parcel",), at=delivery)'
    listed = listed.replace("read_models=(", f"read_models=({model}, ")
    imports = "from aggregates.parcel import parcel\nfrom projections.delivery import delivery\n"
    application.write_text(imports + listed)
    asked = {
        "command_id": "c-1",
        "aggregate_id": "p-1",
        "expected_version": "NO_STREAM",
        "payload": {"type": "SendParcel", "address": "Main Street 1"},
    }
    decide = f"""
from verdict.decision.handle import Limits
from verdict.operator.batch import ShardBatch
from verdict.decision.received import CommandRecord
from verdict.model.source import Source
from verdict.wire.topics import Topics
class Empty:
    def get(self, key): return None
value = {json.dumps(asked).encode()!r}
record = CommandRecord(Source("parcel.commands", 0, 0), 1, b"p-1", value, len(value), None)
for output in ShardBatch(Topics(), Limits(), Empty()).decide([record]): print(output.topic)
"""
    run = [sys.executable, "-m", "verdict.wire.generate"], [sys.executable, "-c", decide]

    made, decided = (
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True) for command in run
    )

    assert made.stdout.count("parcel_") == 2, made.stderr
    assert decided.stdout.split() == ["parcel.events", "parcel.responses"], decided.stderr


def test_every_guarantee_names_tests_that_exist() -> None:
    named = set(re.findall(r"(tests/[\w/]+\.py)::(\w+)", GUARANTEES))

    assert {(file, name) for file, name in named if name not in _tests(file)} == set()


@cache
def _tests(file: str) -> set[str]:
    return set(_names(file))


def _names(file: str) -> Iterator[str]:
    for node in _statements(file):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Assign):
            yield from (name.id for name in node.targets if isinstance(name, ast.Name))


def test_every_promise_is_proven_by_make_test() -> None:
    """`make test-all` and `make chaos` prove more of the same."""
    _, *promises = re.split(r"^### ", GUARANTEES, flags=re.MULTILINE)
    proven = {
        promise
        for promise in promises
        for file, name in re.findall(r"(tests/[\w/]+\.py)::(\w+)", promise)
        if not {"thorough", "campaign"} & _marks(file, name)
    }

    assert [one.partition("\n")[0] for one in promises if one not in proven] == []


def _marks(file: str, name: str) -> set[str]:
    """Return how a test is marked, and all that its module marks."""
    marking = [part for node in _statements(file) for part in _marking(node, name)]
    return {
        node.attr for part in marking for node in ast.walk(part) if isinstance(node, ast.Attribute)
    }


@cache
def _statements(file: str) -> list[ast.stmt]:
    return ast.parse((ROOT / file).read_text()).body


def _marking(node: ast.stmt, name: str) -> list[ast.expr]:
    if isinstance(node, ast.FunctionDef) and node.name == name:
        return [one for one in node.decorator_list if "parametrize" not in ast.unparse(one)]
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
        return [node.value]
    return []


def test_every_promise_has_a_row() -> None:
    rows = re.findall(r"^### ([A-Z]-\d\d)", GUARANTEES, re.MULTILINE)

    assert len(rows) == len(set(rows))
    assert set(ROWS) <= set(rows)


def test_the_demo_that_is_shown_is_the_one_that_is_tested() -> None:
    tested = (ROOT / "tests" / "demo" / "test_demo.py").read_text()
    [shown] = [block for block in blocks("text") if block.startswith("$ make demo")]

    ticks = [tick for tick in re.findall(r'"(✓ [^"]+)"', tested) if not re.search(r"\d\d", tick)]
    assert ticks
    assert [tick for tick in ticks if tick not in shown] == []


def test_the_changelog_begins_with_this_version() -> None:
    version = loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text()

    assert re.findall(r"^## \[([\d.]+)\]", changes, re.MULTILINE)[0] == version


KCAT = f"""#!{sys.executable}
# takes the arguments of kcat that README uses; kcat itself is no package of Python
import argparse, pathlib
from confluent_kafka import Producer
parser = argparse.ArgumentParser()
parser.add_argument("-P", action="store_true", required=True)
for option in ("-b", "-t", "-k", "-X"):
    parser.add_argument(option, required=True)
parser.add_argument("file", type=pathlib.Path)
sent = parser.parse_args()
name, _, value = sent.X.partition("=")
producer = Producer({{"bootstrap.servers": sent.b, name: value}})
producer.produce(sent.t, sent.file.read_bytes(), sent.k)
assert producer.flush(30) == 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with all that README's commands find in the checkout, and a kcat."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name, text in files("python").items():
        if "/" not in name:
            (tmp_path / name).write_text(text)
    (tmp_path / "position.json").write_text(blocks("json")[0])
    (tmp_path / "kcat").write_text(KCAT)
    (tmp_path / "kcat").chmod(0o755)
    return tmp_path


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_commands_that_are_shown_do_what_is_shown(folder: Path) -> None:
    """All of "Run it as a service", with the embedded broker, as a newcomer does it."""
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("VERDICT_")}
    environment |= {"COLUMNS": "100", "PATH": f"{folder}:{os.environ['PATH']}"}
    [[(exported, _), (started, ready)], *rest] = [list(commands(b)) for b in blocks("console")]
    assert started == "verdict up"
    here = {"VERDICT_DATA_DIR": str(folder / ".verdict")}
    with subprocess.Popen(
        [VERDICT, "up"], cwd=folder, env=environment | here, stdout=PIPE, text=True
    ) as service:
        try:
            await_ready(service)
            found = json.loads((folder / ".verdict" / "verdict.json").read_text())
            assert shape(ready) == f"ready: Kafka {'SERVERS'}, database DATABASE"
            with subprocess.Popen(
                ["bash"], cwd=folder, env=environment, stdin=PIPE, stdout=PIPE, text=True
            ) as bash:
                shell = Shell(bash, found["bootstrap_servers"])
                shell.run(exported)
                for block in rest:
                    for command, shown in block:
                        _does(shell, command, shown)
                answers = shell.run("verdict tail responses order --id order-1 --no-follow")
            stop(service)
        finally:
            service.kill()
    refused = json.loads(answers.splitlines()[2])
    shown = json.loads(blocks("json")[1])
    assert shape(json.dumps({name: refused[name] for name in shown})) == shape(json.dumps(shown))


def _does(shell: Shell, command: str, shown: str) -> None:
    """Run a command; what it asks of the tables may follow a little later."""
    deadline = time.monotonic() + FOLLOWS_S
    found = shell.run(command)
    while command.startswith("verdict sql") and shape(found) != shape(shown):
        assert time.monotonic() < deadline, f"{command}\n{found}"
        found = shell.run(command)
    assert shape(found) == shape(shown), command
