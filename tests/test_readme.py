"""What the documents name is there, and commands do what README shows."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path
from subprocess import PIPE
from tomllib import loads
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from compose.application import app
from compose.settings import BusinessSettings
from tests.documents import PAGES, README, ROOT, Document, Shell, commands, shape
from tests.kit.service import VERDICT, await_ready, stop
from verdict.cli import projection, repair
from verdict.cli.application import IN_A_CHECKOUT
from verdict.cli.verbs import VERBS
from verdict.model.reason import Reason
from verdict.wire.response import Response

USING = Document("docs/using.md")
TUTORIAL = Document("docs/tutorial.md")
EXTENDING = Document("docs/extending.md")
PACKAGES = (
    "verdict|schemas|commands|aggregates|projections|compose|tests|docs|examples"  # at the root
)
LONGEST = {
    "README.md": 220,
    "docs/using.md": 245,
    "docs/operating.md": 172,
    "docs/deploying.md": 100,
    "docs/scaling.md": 100,
    "docs/tutorial.md": 220,
    "docs/extending.md": 90,
    "docs/howto.md": 180,
    "docs/architecture.md": 110,
    "GUARANTEES.md": 140,
    "CHANGELOG.md": 75,
    "DECISIONS.md": 152,
}
CODE_BEFORE = 60
FOLLOWS_S = 60
TOKEN = "a token of sixteen"
SAID = ["starting Kafka and Spark", "stopping on SIGINT: the current batch is finished first"]

BELOW = (
    ("projection", projection.app),
    ("blocked", repair.blocked),
    ("dead-letters", repair.dead_letters),
)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.name)


def test_every_target_of_make_is_there() -> None:
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    code = "\n".join(page.code() for page in PAGES)
    named = set(re.findall(r"^(?:\$ )?make ([a-z-]+)", code, re.MULTILINE))

    assert named >= {"check", "demo", "test"}
    assert named <= there


@each_page
def test_every_verb_that_is_used_is_there(page: Document) -> None:
    verbs = {verb.name for verb in (*VERBS, *app.verbs)}
    below = {
        (name, command.name or command.callback.__name__)
        for name, verbs_below in BELOW
        for command in verbs_below.registered_commands
        if command.callback is not None
    }

    used = re.findall(r"^(?:\$ )?verdict ([a-z][a-z-]*)(?: ([a-z]+))?", page.code(), re.MULTILINE)

    assert {verb for verb, _ in used} <= verbs
    assert {one for one in used if one[0] in dict(BELOW) and one[1]} <= below


@each_page
def test_every_setting_that_is_set_is_there(page: Document) -> None:
    named = set(re.findall(r"\bVERDICT_([A-Z_]+)\b", page.code()))

    assert {name.lower() for name in named} <= {*BusinessSettings.model_fields, "app", "name"}


@pytest.mark.parametrize(("name", "lines"), LONGEST.items())
def test_it_can_be_read_in_the_time_that_it_is_meant_for(name: str, lines: int) -> None:
    assert len(Document(name).text.splitlines()) <= lines


def test_code_comes_first() -> None:
    assert README.text[: README.text.index("```python")].count("\n") < CODE_BEFORE


def test_every_reason_is_named_with_whether_it_may_be_tried_again() -> None:
    rows = {row[0]: row[2] for row in README.table("reason")}

    assert set(rows) == set(Reason)
    assert {name for name, advice in rows.items() if "`retriable`" in advice} == {
        reason for reason in Reason if reason.retriable
    }


def test_a_response_has_the_fields_that_are_shown() -> None:
    assert list(json.loads(USING.blocks("json")[0])) == [*Response.model_fields]


@each_page
def test_every_file_that_is_named_is_there(page: Document) -> None:
    named = set(re.findall(rf"(?<![\w./-])(?:{PACKAGES})/[\w./-]*\w", page.code()))
    shown = {*page.files("python")}

    assert {name for name in named if not (ROOT / name).exists()} <= shown


@each_page
def test_every_link_leads_somewhere(page: Document) -> None:
    places = [page.path.parent / link.partition("#")[0] for link in page.links() if link[0] != "#"]

    assert [str(place) for place in places if not place.exists()] == []


@each_page
def test_what_is_shown_of_a_file_is_in_it(page: Document) -> None:
    for name, parts in page.excerpts():
        text = (ROOT / name).read_text()
        assert [part for part in parts if part not in text] == []


def test_the_words_of_the_log_in_the_operators_manual_are_in_the_code() -> None:
    said = " ".join(path.read_text() for path in sorted((ROOT / "verdict").rglob("*.py")))
    spoken = " ".join(re.sub(r'"\s+f?r?"', "", said).split())
    told = " ".join(Document("docs/operating.md").text.split())
    symptoms = re.findall(r"\*\*`([^`]+)`\*\*", told)

    pieces = {piece for one in symptoms for piece in re.split(r"\s*…[:,;.]?\s*", one) if piece}
    assert len(symptoms) > 30
    assert [one for one in pieces if one.strip("() ") not in spoken] == []


def test_what_the_demo_shows_here_is_tested() -> None:
    tested = (ROOT / "tests" / "demo" / "test_demo.py").read_text()
    [shown] = [block for block in README.blocks("text") if block.startswith("$ make demo")]

    ticks = [tick for tick in re.findall(r"✓ .+", shown) if not re.search(r"\d", tick)]
    assert ticks
    assert [tick for tick in ticks if tick not in tested] == []


def test_the_changelog_begins_with_this_version() -> None:
    version = loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text()

    assert re.findall(r"^## \[([\d.]+)\]", changes, re.MULTILINE)[0] == version


@pytest.mark.process
def test_the_application_that_is_shown_passes_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder, as the tutorial says; then with what docs/extending.md adds."""
    monkeypatch.delenv("VERDICT_APP", raising=False)
    _, generated, changed, *_ = TUTORIAL.blocks("console")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run(*lines: str) -> str:
        ran = subprocess.run(
            ["bash", "-e"],
            input="\n".join(lines),
            cwd=tmp_path,
            env=os.environ | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def typed(block: str) -> str:
        return run(*(command for command, _ in commands(block)))

    def write(page: Document) -> None:
        for name, text in page.files("python").items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)

    assert " 5 passed" in typed(generated)
    write(TUTORIAL)
    assert " 2 passed" in typed(changed)
    write(EXTENDING)
    assert " 3 passed" in run("python -m pytest", "verdict schemas check")


PENDING = """
import os
from commands.position import OpenPosition
from compose.application import app
from verdict import Client

opening = OpenPosition(client="ada", ticker="AAPL", exchange="NASDAQ", amount=1)
pending = Client(app, os.environ["KAFKA"]).send("p-10", opening, expected_version=0)
"""
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
    for name, text in README.files("python").items():
        if "/" not in name:
            (tmp_path / name).write_text(text)
    (tmp_path / "position.json").write_text(README.blocks("json")[0])
    (tmp_path / "kcat").write_text(KCAT)
    (tmp_path / "kcat").chmod(0o755)
    return tmp_path


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_commands_that_are_shown_do_what_is_shown(folder: Path) -> None:
    """From "Run it" on, with the embedded broker, as a newcomer does it."""
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("VERDICT_")}
    environment |= {"COLUMNS": "100", "PATH": f"{folder}:{os.environ['PATH']}"}
    [[(exported, _), (started, ready)], *rest] = [
        list(commands(b)) for b in [*README.blocks("console"), *USING.blocks("console")]
    ]
    assert started == "verdict up"
    environment["VERDICT_APP"] = IN_A_CHECKOUT  # which a newcomer's folder is
    here = {"VERDICT_DATA_DIR": str(folder / ".verdict"), "VERDICT_PAGE_TOKEN": TOKEN}
    logged = folder / "up.log"
    with (
        logged.open("w") as log,
        subprocess.Popen(
            [VERDICT, "up"], cwd=folder, env=environment | here, stdout=PIPE, stderr=log, text=True
        ) as service,
    ):
        try:
            await_ready(service)
            found = json.loads((folder / ".verdict" / "verdict.json").read_text())
            assert shape(ready) == "ready: Kafka SERVERS, page http://SERVERS/, database DATABASE"
            with subprocess.Popen(
                ["bash"], cwd=folder, env=environment, stdin=PIPE, stdout=PIPE, text=True
            ) as bash:
                shell = Shell(bash, found["bootstrap_servers"])
                answers = _typed(shell, folder, [[(exported, "")], *rest])
            with _followed(found["page_url"]):
                stop(service, by=signal.SIGINT)
        finally:
            service.kill()
    assert logged.read_text().splitlines() == SAID
    refused = json.loads(answers.splitlines()[2])
    shown = json.loads(USING.blocks("json")[0])
    assert shape(json.dumps({name: refused[name] for name in shown})) == shape(json.dumps(shown))


def _typed(shell: Shell, folder: Path, blocks: list[list[tuple[str, str]]]) -> str:
    """Type all that is shown, and return the responses to commands to an order of README."""
    for command, shown in (one for block in blocks for one in block):
        _does(shell, command, shown)
    for number, script in enumerate(USING.blocks("python")):
        file = folder / f"using_{number}.py"
        file.write_text(PENDING + script if "pending" in script else script)
        said = shell.run(f"python {file.name}; echo $?")
        assert said.split()[-1] == "0", said
    return shell.run("verdict tail responses order --id order-1 --no-follow")


def _followed(page: str) -> HTTPResponse:
    """Send a command through the page, so that it has clients of Kafka, and follow a feed."""
    bearer = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    envelope = json.dumps({
        "aggregate_id": "order-30", "expected_version": "EXISTS", "payload": {"type": "DeleteOrder"}
    })  # fmt: skip
    with suppress(HTTPError):  # it is NOT_FOUND
        urlopen(Request(f"{page}commands/order?wait_s=60", envelope.encode(), bearer))
    answer: HTTPResponse = urlopen(f"{page}feed/us_holder_change")
    return answer


def _does(shell: Shell, command: str, shown: str) -> None:
    """Run a command; what it asks of the tables may follow a little later."""
    deadline = time.monotonic() + FOLLOWS_S
    found = shell.run(command)
    while command.startswith("verdict sql") and shape(found) != shape(shown):
        assert time.monotonic() < deadline, f"{command}\n{found}"
        found = shell.run(command)
    assert shape(found) == shape(shown), command
