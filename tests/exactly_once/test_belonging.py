"""G-01: a query goes on in the topics of its progress record, by their ids, or nowhere."""

from dataclasses import replace

import pytest

from tests.exactly_once.deployment import Deployment
from verdict.adapters.kafka.log_identity import (
    DifferentLogError,
    Identity,
    Remembered,
    changes,
    require_same_ids,
)
from verdict.adapters.kafka.monitor import KafkaMonitor
from verdict.streaming.exactly_once.checkpoint import FRESH
from verdict.streaming.exactly_once.fencing import write_progress
from verdict.streaming.exactly_once.log_identity import log_identity
from verdict.wire.progress_record import ProgressRecord


def test_each_thing_that_is_another_is_named_with_both_ids() -> None:
    found = Identity("here", {"order.events": "b"})

    assert changes(Identity(None, {}), found) == []
    assert changes(Identity("here", {"order.events": "a", "order.commands": "c"}), found) == [
        "order.commands had the id c and is gone",
        "order.events had the id a and has b: it was deleted and created again",
    ]
    assert changes(Identity("there", {"order.events": "a"}), found) == [
        "the cluster's id was there and is here"
    ]


def test_what_several_remember_is_named_once_with_all_else() -> None:
    """Else an operator would learn of one topic after the other."""
    found = Identity("here", {"b": "3"})

    def remembered(whose: str, **ids: str) -> Remembered:
        return Remembered(whose=whose, ids=Identity("here", ids))

    gone, another = "a had the id 1 and is gone", "b had the id 2 and has 3"
    with pytest.raises(
        DifferentLogError,
        match=f"^the progress record of decider and the read side belong to another log: {gone}; "
        f"{another}",
    ):
        require_same_ids(
            [
                remembered("the progress record of decider", a="1", b="2"),
                remembered("the lake's", b="3"),
                remembered("the read side", a="1"),
            ],
            found,
        )
    require_same_ids([remembered("the progress record of decider", b="3")], found)


@pytest.mark.proves("G-01")
@pytest.mark.parametrize("recreated", ["commands", "events"])
def test_a_topic_that_was_created_again_is_refused_before_the_owner_is_disturbed(
    deployment: Deployment, recreated: str
) -> None:
    owner = deployment.claim()
    owner.publish(deployment.batch(0), deployment.outputs(0))
    topic = f"{deployment.name}.{recreated}"
    [was] = deployment.ids([topic]).values()
    assert owner.progress.topic_ids == deployment.ids([deployment.commands, deployment.events])

    deployment.recreate(topic)

    [now] = deployment.ids([topic]).values()
    with pytest.raises(DifferentLogError, match=f"{topic} had the id {was} and has {now}"):
        deployment.claim(deployment.checkpoint(0, committed=True))
    assert deployment.progress() == owner.progress  # it has no new owner


@pytest.mark.proves("G-01")
def test_topics_that_are_created_again_or_deleted_under_the_owner_get_nothing(
    deployment: Deployment,
) -> None:
    owner = deployment.claim()
    owner.publish(deployment.batch(0), deployment.outputs(0))

    deployment.recreate(deployment.events)

    for _ in range(2):  # also when Spark hands the batch over again
        with pytest.raises(DifferentLogError, match=f"{deployment.events} had the id"):
            owner.publish(deployment.batch(1), deployment.outputs(1))
    assert deployment.visible() == []
    deployment.remove(deployment.commands)
    with pytest.raises(DifferentLogError, match=f"{deployment.commands} had the id .* and is gone"):
        owner.publish(deployment.batch(1), deployment.outputs(1))


@pytest.mark.proves("G-01")
def test_a_topic_that_is_created_again_is_noticed_though_nothing_is_published(
    deployment: Deployment,
) -> None:
    monitor = KafkaMonitor(deployment.kafka, deployment.query.topics)
    monitor.remember()
    monitor.compare()

    deployment.recreate(deployment.commands)

    with pytest.raises(DifferentLogError, match=f"{deployment.commands} had the id"):
        monitor.compare()


@pytest.mark.proves("G-01")
def test_a_progress_record_of_another_cluster_is_refused(deployment: Deployment) -> None:
    owner = deployment.claim()
    foreign = replace(owner.progress, cluster_id="elsewhere")
    write_progress(deployment.fence(), deployment.query, deployment.kafka, foreign).close()

    with pytest.raises(
        DifferentLogError, match=r"cluster's id was elsewhere and is .*bootstrap_servers"
    ):
        deployment.claim()


def test_topics_that_are_new_are_adopted_and_those_of_no_interest_are_kept(
    deployment: Deployment,
) -> None:
    progress = deployment.claim(FRESH).progress
    known = {deployment.commands: progress.topic_ids[deployment.commands], "left.events": "gone"}

    found = log_identity(replace(progress, topic_ids=known), deployment.query, deployment.kafka)

    assert found.topic_ids == {**progress.topic_ids, "left.events": "gone"}
    assert isinstance(found, ProgressRecord)
