"""Who sends and reads needs what `pip install verdict-cqrs` brings, and nothing of a service."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.application import APPLICATION
from tests.documents import ROOT
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import create_read_side, open_database

OF_A_SERVICE = (
    "pyspark", "pandas", "pyarrow", "lmdb", "google.protobuf", "numpy",
    "fastapi", "uvicorn", "jinja2", "prometheus_client",
)  # fmt: skip
REFUSING = f"""
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {OF_A_SERVICE!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refusing())
"""
LIGHT_VERBS = (
    "send", "tail", "history", "trace", "explain", "state", "sql", "status", "blocked",
    "schemas", "acls", "config", "topics", "mail", "export",
)  # fmt: skip


def run(script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script as where the packages of a service are not installed."""
    command = [sys.executable, "-c", REFUSING + script]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


SCRIPTS = {
    "the public face needs nothing of a service": (
        """
from verdict import cli, client, errors, model, readers, settings
import verdict
for face in (verdict, cli, client, errors, model, readers, settings):
    for name in face.__all__: getattr(face, name)
""",
        "",
    ),
    # down to the bytes; whether a broker takes them is librdkafka's affair
    "a client encodes what it sends": (
        """
from verdict import Client
from verdict.model import CommandEnvelope
from verdict.wire.catalog import catalog_of
from verdict.wire.commands import encode_command
from commands.order import CancelOrder
from compose.application import app
envelope = CommandEnvelope(command_id="c", aggregate_id="a", expected_version=1, payload={})
print(encode_command(catalog_of(app)["order"], envelope, CancelOrder())[:1])
""",
        "b'\\x00'\n",
    ),
    "declaring a projection loads no database, no Kafka and no Spark": (
        """
import compose.application
from verdict.projections import Groups, Latest, Rows
print(len(compose.application.app.projections), compose.application.app.projections[0].settings)
print(sorted({"sqlalchemy", "confluent_kafka", "pyspark"} & {*sys.modules}))
""",
        "5 ('us_exchanges',)\n[]\n",
    ),
    # two of SQLAlchemy's dialects take a tenth of a verb; a table that names one loads it
    "listing views loads no dialect": (
        """
from compose.application import app
from verdict import load_settings
from verdict.adapters.sql.readers.reader import Access
from verdict.read_side.schema.system_views import views_for
print("misrouted_key" in views_for(load_settings(app), Access.AUDITOR))
print([name for name in sys.modules if name.startswith("sqlalchemy.dialects.")])
""",
        "True\n[]\n",
    ),
    "an application in memory starts neither Kafka nor Spark": (
        """
from compose.application import app
from commands.order import CancelOrder
from verdict.testing import InMemory
with InMemory(app) as memory:
    memory.send("o-1", CancelOrder(), 0)
print(sorted({"pyspark", "pandas", "confluent_kafka"} & set(sys.modules)))
""",
        "[]\n",
    ),
    "verbs that read and send need nothing of a service": (
        f"""
from verdict.cli.verbs import VERBS, application_verbs, loaded
verbs = {{verb.name: verb for verb in (*VERBS, *application_verbs())}}
for name in {LIGHT_VERBS!r}: loaded(verbs[name])
""",
        "",
    ),
}


@pytest.mark.process
@pytest.mark.parametrize(("script", "printed"), SCRIPTS.values(), ids=SCRIPTS)
def test_without_the_packages_of_a_service(script: str, printed: str) -> None:
    ran = run(script)

    assert (ran.stdout, ran.stderr) == (printed, "")


@pytest.mark.process
def test_reading_a_file_loads_nothing_that_writes_databases(tmp_path: Path) -> None:
    """SQLAlchemy, and the projections that are made of it, take a third of a verb."""
    url = f"sqlite:///{tmp_path}/read.db"
    engine = open_database(url)
    create_read_side(engine, projections(APPLICATION))
    engine.dispose()
    script = f"""
from pydantic import SecretStr
from compose.application import app
from verdict import load_settings
from verdict.cli.verbs import VERBS, loaded
from verdict.adapters.sql.readers.reader import open_reader
from verdict.operations.status.read_side_status import projection_statuses
for verb in VERBS:
    if verb.name in ("history", "sql", "state", "status", "tail", "trace", "explain"): loaded(verb)
url = SecretStr({url!r})
settings = load_settings(app).model_copy(update={{"database_url": url}})
print(len(projection_statuses(settings)) > 5)
with open_reader(settings) as reader:
    print("us_holder" in reader.views, "dead_letter" in reader.views)
    print(list(reader.select("SELECT count(*) FROM us_holder").rows))
print("sqlalchemy" in sys.modules)
"""
    ran = run(script)

    assert (ran.stdout, ran.stderr) == ("True\nTrue False\n[(0,)]\nFalse\n", "")


@pytest.mark.process
@pytest.mark.parametrize(
    ("verb", "says"),
    [
        ("up", r"verdict: `verdict up` needs (pyspark|pyarrow), which is not installed: "
               r"pip install 'verdict-cqrs\[service\]'\n"),
        ("serve", r"verdict: .* which is not installed: pip install 'verdict-cqrs\[page\]'\n"),
    ],
)  # fmt: skip
def test_a_verb_that_needs_a_service_says_what_to_install(verb: str, says: str) -> None:
    ran = run(f"from verdict.cli.main import main; sys.argv = ['verdict', {verb!r}]; main()")

    assert ran.returncode == 6
    assert re.fullmatch(says, ran.stderr)


# as who sends and reads would type it; what `sql` reads is made by the engine itself
OUTSIDE = """
import sys
from importlib.util import find_spec
from pathlib import Path

import verdict
from verdict import Client
from verdict.model import CommandEnvelope
from verdict.testing import InMemory
from verdict.testing.memory_log import MemoryLog
from verdict.testing.memory_read_side import ReadSide
from verdict.wire.catalog import catalog_of
from verdict.wire.commands import encode_command
from verdict.wire.topics import Topics

from shop.commands.parcel import OpenParcel
from shop.compose.application import app
from verdict.read_side.catalog import projections

assert Path(verdict.__file__).is_relative_to(sys.prefix), verdict.__file__
for package in sys.argv[1:]:
    assert find_spec(package.partition(".")[0]) is None, package
envelope = CommandEnvelope(command_id="c", aggregate_id="a", expected_version=0, payload={})
assert encode_command(catalog_of(app)["parcel"], envelope, OpenParcel(title="first"))[:1] == b"\\0"
Client(app, "127.0.0.1:9").close()  # nothing listens there, and nothing was sent
with InMemory(app) as shop:
    shop.send("p-1", OpenParcel(title="first"), 0)
    [event] = shop.events("parcel.events")
log = MemoryLog(Topics(app))
log.put(event)
side = ReadSide(Path.cwd(), Topics(app), projections(app), lambda: 0)
side.follow(log)
side.close()
"""


@pytest.mark.process
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_what_pip_installs_for_senders_and_readers_is_enough(tmp_path: Path) -> None:
    """A wheel in an environment of its own, with what pip takes along and nothing else."""
    ours = ("PYTHONPATH", "VERDICT_")  # what other tests of this process have set, too
    environment = {name: one for name, one in os.environ.items() if not name.startswith(ours)}
    binaries, empty = tmp_path / "venv" / "bin", tmp_path / "empty"
    empty.mkdir()

    def succeeds(*command: str | Path) -> str:
        ran = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    succeeds(sys.executable, "-m", "venv", binaries.parent)
    succeeds(binaries / "pip", "install", "--quiet", wheel(tmp_path))
    verdict = binaries / "verdict"

    assert "Run a read-only query" in succeeds(verdict, "--help")
    succeeds(verdict, "new", "application", "shop", "--aggregate", "parcel")
    succeeds(verdict, "schemas", "write")
    succeeds(binaries / "python", "-c", OUTSIDE, *OF_A_SERVICE)
    asked = ("select id, title from parcel_state", "--json", "--data-dir", empty)
    assert json.loads(succeeds(verdict, "sql", *asked)) == {"id": "p-1", "title": "first"}


@pytest.mark.process
@pytest.mark.thorough
def test_the_wheel_brings_the_engine_and_nothing_else(tmp_path: Path) -> None:
    """A service with a `schemas` or `commands` of its own can install it."""
    with ZipFile(wheel(tmp_path)) as built:
        top = {name.partition("/")[0] for name in built.namelist()}

    assert {name for name in top if not name.endswith(".dist-info")} == {"verdict"}


def wheel(folder: Path) -> Path:
    """Return a wheel of this checkout, built from a copy, as a build leaves its own files there."""
    copy = folder / "copy"
    shutil.copytree(ROOT / "verdict", copy / "verdict", ignore=shutil.ignore_patterns("*.pyc"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", folder, copy], check=True)
    [built] = folder.glob("*.whl")
    return built
