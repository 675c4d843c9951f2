"""Who sends and reads needs what `pip install verdict-cqrs` brings, and nothing of a service."""

import subprocess
import sys
import tomllib

import pytest

from tests.documents import ROOT

OF_A_SERVICE = ("pyspark", "pandas", "pyarrow", "lmdb", "google.protobuf", "numpy")
REFUSING = f"""
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {OF_A_SERVICE!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refusing())
"""
LIGHT_VERBS = (
    "send", "tail", "history", "state", "sql", "status", "letters", "schemas", "acls", "config",
    "topics", "mail", "materialise",
)  # fmt: skip


def run(script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script as where the packages of a service are not installed."""
    command = [sys.executable, "-c", REFUSING + script]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.process
def test_the_public_face_needs_nothing_of_a_service() -> None:
    script = "import verdict\nfor name in verdict.__all__: getattr(verdict, name)"

    assert run(script).stderr == ""


@pytest.mark.process
def test_a_client_encodes_what_it_sends() -> None:
    """Down to the bytes; whether a broker takes them is librdkafka's affair."""
    script = """
from verdict import Client, CommandEnvelope
from verdict.wire.commands import encode_command
from commands.order import CancelOrder
envelope = CommandEnvelope(command_id="c", aggregate_id="a", expected_version=1, payload={})
print(encode_command("order", envelope, CancelOrder())[:1])
"""
    ran = run(script)

    assert (ran.stdout, ran.stderr) == ("b'\\x00'\n", "")


@pytest.mark.process
def test_verbs_that_ask_and_send_need_nothing_of_a_service() -> None:
    loading = f"""
from verdict.cli.verbs import loaded, verb_of
for name in {LIGHT_VERBS!r}: loaded(verb_of(name))
"""
    assert run(loading).stderr == ""


@pytest.mark.process
def test_a_verb_that_needs_a_service_says_what_to_install() -> None:
    ran = run("from verdict.cli.main import main; sys.argv = ['verdict', 'up']; main()")

    assert ran.returncode == 6
    assert ran.stderr == (
        "verdict: `verdict up` needs pyspark, which is not installed: "
        "pip install 'verdict-cqrs[service]'\n"
    )


def test_what_a_service_needs_is_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = " ".join(project["dependencies"])
    service = " ".join(project["optional-dependencies"]["service"])

    for package in ("pyspark", "pandas", "pyarrow", "lmdb", "protobuf"):
        assert package not in base
        assert package in service
