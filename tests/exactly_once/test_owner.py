"""One owner at a time, on a real broker: who goes on, who stops, and what consumers see."""

import os
import re
import socket
from dataclasses import replace
from typing import Any

import pytest

from tests.exactly_once.deployment import Deployment, values
from tests.tiers import the_first_of
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.errors import (
    CheckpointMismatchError,
    FencedError,
    NotPublishedError,
)
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.streaming.exactly_once.read_progress import holds_records


def test_the_first_start_writes_a_progress_record_at_the_first_commands_that_kafka_holds(
    deployment: Deployment,
) -> None:
    deployment.send(deployment.commands, b"deleted", partition=0)
    deployment.delete(deployment.commands, partition=0, before=1)
    assert holds_records(deployment.kafka, [deployment.commands])

    progress = deployment.claim().progress

    assert progress == deployment.progress()
    assert (progress.generation, progress.batch_id, progress.query_id) == (1, -1, None)
    assert (progress.shards, progress.offsets) == (2, {deployment.commands: [1, 0]})


def test_events_without_a_progress_record_refuse_the_start(deployment: Deployment) -> None:
    deployment.send(deployment.events, b"event")

    with pytest.raises(CheckpointMismatchError, match="outputs exist, and no progress record"):
        deployment.claim()

    assert deployment.progress() is None


@pytest.mark.parametrize("checkpoint", ["fresh", "older", "other shards"])
def test_a_misfit_is_refused_before_the_owner_is_disturbed(
    deployment: Deployment, checkpoint: str
) -> None:
    steps: list[Failpoint] = []
    owner = deployment.claim(on_step=steps.append)
    for batch_id in range(2):
        owner.publish(deployment.batch(batch_id), deployment.outputs(batch_id))
    misfit = {
        "fresh": FRESH,
        "older": deployment.checkpoint(0, committed=True),
        "other shards": replace(deployment.checkpoint(1, committed=True), shards=5),
    }[checkpoint]

    with pytest.raises(CheckpointMismatchError, match="verdict recover"):
        deployment.claim(misfit)

    owner.publish(deployment.batch(2), deployment.outputs(2))
    assert deployment.visible() == values(0, 1, 2)
    assert Failpoint.IN_DOUBT not in steps


def test_the_former_owner_is_fenced_and_names_the_new_one(deployment: Deployment) -> None:
    former = deployment.claim()
    former.publish(deployment.batch(0), deployment.outputs(0))

    owner = deployment.claim(deployment.checkpoint(0, committed=True))
    owner.publish(deployment.batch(1), deployment.outputs(1))

    for _ in range(2):  # also when Spark hands the batch over again
        with pytest.raises(
            FencedError, match=f"fenced by owner {re.escape(owner.progress.owner)}.* stop that one"
        ):
            former.publish(deployment.batch(1), deployment.outputs(1, wording="!"))
    assert f"(pid {os.getpid()} on {socket.gethostname()})" in owner.progress.owner
    owner.publish(deployment.batch(2), deployment.outputs(2))
    assert deployment.visible() == values(0, 1, 2)


@pytest.mark.parametrize(
    "moment", the_first_of(Failpoint.BEFORE_COMMIT, Failpoint.TRANSACTION_OPEN)
)
def test_an_owner_that_was_paused_in_its_transaction_stops_and_leaves_nothing(
    deployment: Deployment, moment: Failpoint
) -> None:
    def while_paused(step: Failpoint) -> None:
        if step is moment:
            owner = deployment.claim()
            owner.publish(deployment.batch(0), deployment.outputs(0))
            owner.publish(deployment.batch(1), deployment.outputs(1))
            owner.close()

    former = deployment.claim(on_step=while_paused)

    with pytest.raises(FencedError):
        former.publish(deployment.batch(0), deployment.outputs(0, wording="!"))

    assert deployment.visible() == values(0, 1)


def test_an_owner_that_is_fenced_but_not_replaced_goes_on_and_the_other_stops(
    deployment: Deployment,
) -> None:
    owner = deployment.claim()

    def meanwhile(step: Failpoint) -> None:
        if step is Failpoint.INITIALISED:
            owner.publish(deployment.batch(0), deployment.outputs(0))

    with pytest.raises(
        CheckpointMismatchError
    ):  # the progress record has moved on since it was read first
        deployment.claim(on_step=meanwhile)
    owner.publish(deployment.batch(1), deployment.outputs(1))

    assert deployment.visible() == values(0, 1)


def test_of_two_that_start_at_once_the_last_to_initialise_stays(deployment: Deployment) -> None:
    later = []

    def meanwhile(step: Failpoint) -> None:
        if step is Failpoint.INITIALISED:
            later.append(deployment.claim())

    with pytest.raises(NotPublishedError, match=r"could not be claimed .*fenced"):
        deployment.claim(on_step=meanwhile)

    assert later[0].publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == values(0)


def test_an_owner_whose_progress_record_was_deleted_stops(deployment: Deployment) -> None:
    owner = deployment.claim()
    deployment.send(deployment.query.progress_topic, None, b"decider")
    deployment.fence()

    with pytest.raises(CheckpointMismatchError, match="the progress record of decider is gone"):
        owner.publish(deployment.batch(0), deployment.outputs(0))


@pytest.mark.proves("C-18")
def test_a_former_owner_that_wakes_up_before_it_initialises_again_stops_and_the_other_goes_on(
    deployment: Deployment,
) -> None:
    """It fences the new owner, who finds himself in the progress record."""
    taking_over: list[Any] = []

    def meanwhile(step: Failpoint) -> None:
        if step is Failpoint.BEFORE_COMMIT and not taking_over:
            taking_over.append(deployment.fence())
        if step is Failpoint.STILL_OWNER:
            taking_over.append(deployment.claim())

    former = deployment.claim(on_step=meanwhile)

    with pytest.raises(FencedError):
        former.publish(deployment.batch(0), deployment.outputs(0, wording="!"))

    owner = taking_over[-1]
    assert owner.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == values(0)
