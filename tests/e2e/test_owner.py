"""Several services under one name: exactly one goes on, and the others say why they stop."""

import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from commands.order import DeleteOrder, ModifyOrder
from tests.kit.deployment import await_true
from tests.kit.faults import await_stopped, pause
from tests.kit.service import PLACE, SELDOM_S, Deployment, Process, await_ready, stop
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.streaming.exactly_once.checkpoint import checkpoint_position
from verdict.streaming.exactly_once.failpoints import Failpoint

pytestmark = pytest.mark.timeout(900)

ENDS_S = 60


@pytest.mark.proves("C-18")
@pytest.mark.thorough
def test_a_second_service_is_refused_on_a_fresh_directory_and_takes_over_on_a_copy(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """C-18: the copy is taken at a quiet point, and the broker is elsewhere."""
    first, fresh, copy = several(broker.bootstrap_servers, "owner", tmp_path, 3)
    with started(first) as former:
        await_ready(former)
        with first.traffic(1, SELDOM_S):
            first.send(PLACE, expected_version=0, command_id="c-1")
        refused = fresh.cli("up")
        assert refused.returncode == 1
        assert "checkpoint is at (fresh, without a batch), Kafka at (batch " in refused.stderr
        assert f"(pid {former.pid} on " in refused.stderr
        assert "run `verdict recover`" in refused.stderr
        first.send(ModifyOrder(quantity=5), expected_version=1, command_id="c-2")
        assert said(first) == ""

        settled(first)
        copied(first, copy)
        with started(copy) as latter:
            await_ready(latter)
            assert_taken_over(former, first, by=latter.pid)  # though nothing is sent
            with copy.traffic(2, SELDOM_S):
                copy.send(DeleteOrder(), expected_version=2, command_id="c-3")
            copy.await_quiet()
            stop(latter)

    copy.assert_as_the_model_says()


@pytest.mark.proves("C-18")
@pytest.mark.thorough
def test_an_owner_that_overslept_in_a_commit_goes_on_alone_and_stops_when_it_was_replaced(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """C-18: the whole process tree stands still, as on a laptop that is closed."""
    first, copy = several(broker.bootstrap_servers, "paused", tmp_path, 2)
    first.environment["VERDICT_TRANSACTION_TIMEOUT_S"] = "5"
    with ExitStack() as traffic, started(first, (Failpoint.BEFORE_COMMIT, 4)) as former:
        traffic.enter_context(first.traffic(1, SELDOM_S))
        await_stopped(former)
        resume = pause(former)
        await_abort(first)
        resume()
        await_stopped(former)  # so it has gone on
        assert "is in doubt, the progress record will tell" in said(first)

        resume = pause(former)
        copied(first, copy)
        with started(copy) as latter:
            await_ready(latter)
            copy.send(PLACE, expected_version=0, command_id="c-1")
            resume()
            assert_taken_over(former, first, by=latter.pid)
            copy.send(DeleteOrder(), expected_version=1, command_id="c-2")
            traffic.close()
            copy.await_quiet()
            stop(latter)

    copy.assert_as_the_model_says()


@pytest.mark.proves("C-17")
@pytest.mark.campaign
def test_a_service_whose_state_is_rebuilt_elsewhere_stops_and_the_other_goes_on(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """C-17, C-18: a recovery on an empty directory is a way to take over, too."""
    first, other = several(broker.bootstrap_servers, "recovered", tmp_path, 2)
    with started(first) as former:
        await_ready(former)
        with first.traffic(1, SELDOM_S):
            first.send(PLACE, expected_version=0, command_id="c-1")
        settled(first)
        recovered = other.cli("recover")
        assert recovered.returncode == 0, recovered.stderr
        assert former.wait(ENDS_S) == 1
        assert "was fenced by" in said(first)
        assert "verdict recover" in said(first)
    refused = first.cli("up")
    assert refused.returncode == 1
    assert "lacks the recovered state of generation 2" in refused.stderr
    with other.running():
        again = other.send(PLACE, expected_version=0, command_id="c-1")
        other.send(DeleteOrder(), expected_version=1, command_id="c-2")
        other.await_quiet()

    assert again.duplicate
    other.assert_as_the_model_says()


def several(servers: str, name: str, folder: Path, count: int) -> list[Deployment]:
    """Return one deployment as often as asked, each time with another data directory."""
    found = []
    for number in range(count):
        home = folder / str(number)
        home.mkdir()
        found.append(Deployment(servers, name, home / "d"))
    return found


@contextmanager
def started(deployment: Deployment, doom: tuple[Failpoint, int] | None = None) -> Iterator[Process]:
    """Run a service that may end by itself; what is left of it in the end is killed."""
    with deployment.start(doom, by=signal.SIGSTOP) as service:
        try:
            yield service
        finally:
            service.kill()


def said(deployment: Deployment) -> str:
    """Return what the deployment's services wrote to stderr, without the line on the start."""
    lines = (deployment.data_dir.parent / "stderr").read_text().splitlines()
    return "\n".join(line for line in lines if line and "starting Kafka and Spark" not in line)


def assert_taken_over(former: Process, deployment: Deployment, *, by: int) -> None:
    """The service ends, and says who has taken over and what to do."""
    assert former.wait(ENDS_S) == 1
    [last] = [line for line in said(deployment).splitlines() if line.startswith("verdict: ")]
    assert "was fenced by owner" in last
    assert f"(pid {by} on " in last
    assert "stop that one and start on its data directory" in last


def settled(deployment: Deployment) -> None:
    """Return when every command is decided, and Spark has written that down."""
    deployment.await_quiet()
    await_true(
        lambda: checkpoint_position(deployment.generation().checkpoint).committed,
        what="the last batch is not committed",
    )


def copied(source: Deployment, target: Deployment) -> None:
    """Copy a data directory that is not in use, without what no start needs."""
    scratch = str(source.data_dir)

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {"spark"} & {*names} if folder == scratch else set()

    shutil.copytree(source.data_dir, target.data_dir, ignore=ignored)


def await_abort(deployment: Deployment) -> None:
    """Return when Kafka has ended the transaction that is open on the progress records."""
    await_true(lambda: deployment.seen().settled, what="Kafka does not end the transaction")
