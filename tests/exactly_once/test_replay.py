"""A batch that was planned and not done is read again: Kafka must have all of it."""

import pytest
from verdict.exactly_once.replay import refuse_what_cannot_be_read_again

from tests.exactly_once.deployment import BATCH_SIZE, Deployment
from verdict.errors import VerdictError
from verdict.exactly_once.checkpoint import FRESH


def planned(deployment: Deployment, *, committed: bool = False) -> None:
    checkpoint = deployment.checkpoint(0, committed=committed)
    refuse_what_cannot_be_read_again(deployment.query, deployment.kafka, checkpoint)


def test_what_was_planned_and_is_there_is_read_again(deployment: Deployment) -> None:
    for _ in range(BATCH_SIZE):
        deployment.send(deployment.commands, b"a command")

    planned(deployment)


def test_what_is_done_is_not_read_again(deployment: Deployment) -> None:
    planned(deployment, committed=True)
    refuse_what_cannot_be_read_again(deployment.query, deployment.kafka, FRESH)


@pytest.mark.proves("G-01")
def test_a_batch_whose_end_is_lost_is_named_at_the_start(deployment: Deployment) -> None:
    """Spark waited for two minutes, while the service was `ready`."""
    deployment.send(deployment.commands, b"the only one")

    with pytest.raises(VerdictError, match=r"offset 0 to 9, of which Kafka has offsets 0 to 0"):
        planned(deployment)


@pytest.mark.proves("G-01")
def test_a_batch_whose_beginning_is_dropped_is_named_at_the_start(deployment: Deployment) -> None:
    for _ in range(BATCH_SIZE):
        deployment.send(deployment.commands, b"a command")
    deployment.delete(deployment.commands, 0, BATCH_SIZE)

    with pytest.raises(VerdictError, match=r"Kafka has nothing.*run `verdict recover`"):
        planned(deployment)
