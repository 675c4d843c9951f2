"""What is read next must still be in Kafka: a planned batch, or all after the progress record."""

from dataclasses import replace

import pytest

from tests.exactly_once.deployment import BATCH_SIZE, SPARK_QUERY, Deployment
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.fencing import genesis
from verdict.streaming.exactly_once.readable import check_readable


def check(deployment: Deployment, checkpoint: CheckpointPosition, reached: int = 0) -> None:
    """Check what is read next after a progress record at this offset of the first partition."""
    new = genesis(deployment.query, None, {deployment.commands: [reached, 0]}, 2)
    progress = replace(new, query_id=SPARK_QUERY, batch_id=0)
    check_readable(deployment.query, deployment.kafka, progress, checkpoint)


def planned(deployment: Deployment) -> None:
    check(deployment, deployment.checkpoint(0, committed=False))


def send(deployment: Deployment, count: int) -> None:
    for _ in range(count):
        deployment.send(deployment.commands, b"a command")


def test_a_planned_batch_that_is_there_is_read_again(deployment: Deployment) -> None:
    send(deployment, BATCH_SIZE)

    planned(deployment)


def test_a_batch_that_is_done_is_not_read_again(deployment: Deployment) -> None:
    send(deployment, BATCH_SIZE)
    deployment.delete(deployment.commands, 0, BATCH_SIZE)

    check(deployment, deployment.checkpoint(0, committed=True), BATCH_SIZE)


@pytest.mark.proves("G-01")
def test_a_batch_whose_end_is_lost_is_named_at_the_start(deployment: Deployment) -> None:
    """Spark waited for two minutes, while the service was `ready`."""
    send(deployment, 1)

    with pytest.raises(VerdictError, match=r"offset 0 to 9, and Kafka has offsets 0 to 0"):
        planned(deployment)


@pytest.mark.proves("G-01")
def test_a_batch_whose_beginning_is_dropped_is_named_at_the_start(deployment: Deployment) -> None:
    send(deployment, BATCH_SIZE)
    deployment.delete(deployment.commands, 0, BATCH_SIZE)

    with pytest.raises(VerdictError, match=r"Kafka has nothing.*run `verdict recover`"):
        planned(deployment)


@pytest.mark.proves("C-17")
def test_a_start_that_lacks_undecided_commands_is_refused(deployment: Deployment) -> None:
    """Else the service says `ready`, and ends when Spark looks for them."""
    send(deployment, 3)
    deployment.delete(deployment.commands, 0, 2)
    done = deployment.checkpoint(0, committed=True)

    check(deployment, done, 2)
    with pytest.raises(VerdictError, match=r":0 from offset 1 on, and Kafka has offsets 2 to 2"):
        check(deployment, done, 1)


@pytest.mark.proves("G-01")
def test_a_start_whose_decided_commands_lost_their_end_is_refused(deployment: Deployment) -> None:
    """What is written in their place would never be decided."""
    send(deployment, 3)

    with pytest.raises(VerdictError, match=r":0 from offset 4 on, and Kafka has offsets 0 to 2"):
        check(deployment, deployment.checkpoint(0, committed=True), 4)
