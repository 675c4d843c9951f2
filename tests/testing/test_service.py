"""A service as a process: with a stand-in for `verdict`, as a real one takes its time to start."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.application import APPLICATION
from verdict.errors import VerdictError
from verdict.testing import Service
from verdict.testing import service as module

pytestmark = pytest.mark.process

READY = "echo 'ready: Kafka 127.0.0.1:9, database sqlite:////d/verdict.db'"
RUNS = f"sh -c 'sleep 60 & wait' & {READY}; wait"

StandIn = Callable[[str], None]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Return a function that sets what `verdict up` does; other verbs print what they see."""

    def put(up: str) -> None:
        shown = 'echo "$* $PWD $VERDICT_CORES $VERDICT_TOPIC_PREFIX"; echo no >&2; exit $CODE'
        script = tmp_path / "verdict"
        script.write_text(f'#!/bin/sh\nif [ "$1" = up ]; then {up}; else {shown}; fi\n')
        script.chmod(0o755)
        monkeypatch.setattr(module, "VERDICT", str(script))

    return put


def children() -> set[int]:
    return {one.pid for one in psutil.Process().children(recursive=True)}


def test_it_runs_until_the_block_ends_and_leaves_nothing(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in(RUNS)
    before = children()

    with Service(APPLICATION, tmp_path / "data") as service:
        service.check()
        assert service.bootstrap_servers == "127.0.0.1:9"
        assert len(children() - before) >= 2

    assert not children() - before  # others of this process may end meanwhile


def test_a_block_that_fails_ends_it_whether_it_wants_or_not(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.1)
    stand_in(f"trap '' TERM; {RUNS}")
    before = children()

    with pytest.raises(KeyboardInterrupt), Service(APPLICATION, tmp_path / "data"):
        raise KeyboardInterrupt

    assert not children() - before  # others of this process may end meanwhile


def test_its_verbs_have_its_settings_and_none_from_outside(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(RUNS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CODE", "0")
    monkeypatch.setenv("VERDICT_TOPIC_PREFIX", "production.")
    (tmp_path / "verdict.toml").write_text('deployment = "production"\n')
    data = tmp_path / "data"

    with Service(APPLICATION, data, cores=3) as service:
        said = service.verb("sql", "SELECT 1")

    assert said.stdout.split() == ["sql", "SELECT", "1", str(data), "3"]
    assert service.settings.model_fields_set == {"data_dir", "cores", "page"}
    assert (service.settings.cores, service.settings.topic_prefix) == (3, "")
    assert not service.settings.page


def test_a_verb_that_fails_says_why(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(RUNS)
    monkeypatch.setenv("CODE", "3")

    with Service(APPLICATION, tmp_path / "data") as service:
        assert service.verb("verify", check=False).returncode == 3
        with pytest.raises(VerdictError, match=r"`verdict sql 'SELECT 1'` failed: no"):
            service.verb("sql", "SELECT 1")


def test_one_that_does_not_start_or_ends_is_reported_with_its_last_words(
    stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in("echo 'no Java' >&2; exit 6")
    with pytest.raises(VerdictError, match="`verdict up` has ended with 6: no Java"):
        Service(APPLICATION, tmp_path / "data").__enter__()

    stand_in(f"{READY}; echo 'no disk' >&2; exit 1")
    with Service(APPLICATION, tmp_path / "data") as service:
        service._up.wait()  # type: ignore[union-attr]
        with pytest.raises(VerdictError, match="`verdict up` has ended with 1: no disk"):
            service.check()


def test_the_application_of_this_process_is_found_by_its_verbs() -> None:
    environment = module._environment("compose.application:app", {}) | {"PATH": os.environ["PATH"]}

    found = subprocess.run(
        [sys.executable, "-c", "from verdict.cli.application import load; print(load().name)"],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
    )

    assert (found.stdout, found.stderr) == ("orders and invoices\n", "")
