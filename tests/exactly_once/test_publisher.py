"""Publishing on a real broker: what consumers see, and what the progress record says."""

import os
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.exactly_once.deployment import Deployment, values
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.errors import (
    NotPublishedError,
    ReplayDiffersError,
)
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.wire.headers import joined


def test_a_batch_becomes_visible_with_its_progress_record_and_group_offsets(
    deployment: Deployment,
) -> None:
    publisher = deployment.claim()

    assert publisher.publish(deployment.batch(0), deployment.outputs(0))

    assert deployment.visible() == values(0)
    progress = deployment.progress()
    assert progress == publisher.progress
    assert progress is not None
    assert (progress.batch_id, progress.offsets) == (0, deployment.batch(0).end)
    assert committed_for_lag_display(deployment) == 10


def test_keys_and_headers_arrive_as_they_are(deployment: Deployment) -> None:
    publisher = deployment.claim()
    sent = [
        OutputRecord(
            deployment.events, b"\xff\x00", b"value", joined({"ce_id": "1", "ce_type": "ö"})
        ),
        OutputRecord(deployment.events, None, b"no key"),
    ]

    publisher.publish(deployment.batch(0), sent)

    found = {
        (message.key(), message.value(), tuple(message.headers() or ()))
        for message in deployment.committed(deployment.events)
    }
    headers = (("ce_id", b"1"), ("ce_type", "ö".encode()))
    assert found == {(b"\xff\x00", b"value", headers), (None, b"no key", ())}


def test_a_batch_without_output_moves_the_progress_record(deployment: Deployment) -> None:
    publisher = deployment.claim()

    assert publisher.publish(deployment.batch(0), [])

    assert deployment.visible() == []
    assert publisher.progress == deployment.progress()
    assert publisher.progress.offsets == deployment.batch(0).end


def test_a_replay_is_computed_but_not_published_again(deployment: Deployment) -> None:
    deployment.claim().publish(deployment.batch(0), deployment.outputs(0))
    steps: list[Failpoint] = []
    publisher = deployment.claim(deployment.checkpoint(0, committed=False), steps.append)

    assert not publisher.publish(deployment.batch(0), deployment.outputs(0))

    assert deployment.visible() == values(0)
    assert steps == [
        Failpoint.PROGRESS_READ,
        Failpoint.INITIALISED,
        Failpoint.CLAIM_SENT,
        Failpoint.CLAIMED,
        Failpoint.OUTPUT_COMPUTED,
        Failpoint.SKIPPED,
    ]


@pytest.mark.proves("C-04")
def test_a_replay_with_another_output_stops_and_names_both_versions_of_the_rules(
    deployment: Deployment,
) -> None:
    deployment.claim().publish(deployment.batch(0), deployment.outputs(0))
    deployment.query = replace(deployment.query, handler_version="rules-2")
    publisher = deployment.claim(deployment.checkpoint(0, committed=False))

    with pytest.raises(ReplayDiffersError, match=r"rules-1, but its replay by rules-2"):
        publisher.publish(deployment.batch(0), deployment.outputs(0, wording="!"))
    assert deployment.visible() == values(0)

    later = deployment.claim(deployment.checkpoint(0, committed=True))
    later.publish(deployment.batch(1), deployment.outputs(1))
    assert later.progress.handler_version == "rules-2"


@pytest.mark.proves("C-08")
def test_a_record_that_broker_or_client_refuses_fails_its_whole_transaction(
    deployment: Deployment,
) -> None:
    publisher = deployment.claim()
    for too_large in (
        OutputRecord(deployment.query.progress_topic, b"k", os.urandom(2 << 20)),  # limit 1 MiB
        OutputRecord(deployment.events, b"k", b"x" * (5 << 20)),
    ):
        with pytest.raises(NotPublishedError, match=r"(?s)too large.*batch 0|batch 0.*too large"):
            publisher.publish(deployment.batch(0), [*deployment.outputs(0), too_large])

    assert deployment.visible() == []
    progress = deployment.progress()
    assert progress is not None
    assert progress.batch_id == -1
    assert publisher.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == values(0)


def test_a_bug_while_publishing_leaves_nothing_behind_and_the_next_try_succeeds(
    deployment: Deployment,
) -> None:
    failing = True

    def fail_once(step: Failpoint) -> None:
        if step is Failpoint.TRANSACTION_OPEN and failing:
            raise ZeroDivisionError

    publisher = deployment.claim(on_step=fail_once)
    with pytest.raises(ZeroDivisionError):
        publisher.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == []

    failing = False
    assert publisher.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == values(0)


@pytest.mark.proves("C-14")
def test_100_000_records_are_one_transaction(deployment: Deployment) -> None:
    publisher = deployment.claim()
    outputs = [
        OutputRecord(deployment.events, b"%d" % (number % 1000), b"%d" % number)
        for number in range(100_000)
    ]

    publisher.publish(deployment.batch(0), outputs)

    assert len(deployment.visible()) == 100_000


def test_a_full_queue_is_waited_for(deployment: Deployment) -> None:
    settings = {**deployment.kafka.settings, "queue.buffering.max.messages": 10}
    deployment.kafka = replace(deployment.kafka, settings=settings)
    publisher = deployment.claim()
    outputs = [
        OutputRecord(deployment.events, b"%d" % number, b"%d" % number) for number in range(200)
    ]

    publisher.publish(deployment.batch(0), outputs)

    assert len(deployment.visible()) == 200


def committed_for_lag_display(deployment: Deployment) -> int:
    group = deployment.query.transactional_id
    consumer = Consumer({**deployment.kafka.settings, "group.id": group})
    try:
        places = consumer.committed([TopicPartition(deployment.commands, 0)], timeout=30)
        return places[0].offset
    finally:
        consumer.close()
