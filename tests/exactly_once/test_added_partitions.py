"""Partitions that somebody adds to our topics stay empty, and hide nothing that is read."""

from dataclasses import replace

import pytest

from tests.application import APPLICATION
from tests.exactly_once.deployment import Deployment, values
from tests.topics import grow
from verdict.model.source import Source
from verdict.streaming.event_log.skip_log import read_skips, write_skips
from verdict.streaming.exactly_once.restart import restart_from_progress
from verdict.wire.skip_record import SkipRecord
from verdict.wire.topics import Topics


@pytest.mark.proves("U-02")
def test_outputs_and_progress_records_stay_in_the_first_partitions(deployment: Deployment) -> None:
    """Added while a producer runs, and before it starts."""
    servers = str(deployment.kafka.settings["bootstrap.servers"])
    counts = {deployment.events: 2, deployment.query.progress_topic: 1}
    deployment.kafka = replace(deployment.kafka, outputs=counts)
    owner = deployment.claim()
    owner.publish(deployment.batch(0), deployment.outputs(0))
    for topic, count in counts.items():
        grow(servers, topic, count + 2)
    owner.publish(deployment.batch(1), deployment.outputs(1))
    again = deployment.claim(deployment.checkpoint(1, committed=True))
    again.publish(deployment.batch(2), deployment.outputs(2))

    written = {deployment.events: {0, 1}, deployment.query.progress_topic: {0}}
    for topic, numbers in written.items():
        assert {one.partition() for one in deployment.committed(topic)} == numbers
    places: dict[bytes | str | None, set[int | None]] = {}
    for one in deployment.committed(deployment.events):
        places.setdefault(one.key(), set()).add(one.partition())
    assert all(len(numbers) == 1 for numbers in places.values()), "no key has moved"
    assert deployment.visible() == values(0, 1, 2)
    progress = deployment.progress()
    assert progress is not None
    assert progress.batch_id == 2


def test_a_partition_that_is_added_to_an_input_begins_with_its_first_record(
    deployment: Deployment,
) -> None:
    servers = str(deployment.kafka.settings["bootstrap.servers"])
    query = replace(deployment.another("reactions"), outputs=())
    restart_from_progress(query, deployment.kafka).close()
    deployment.send(deployment.commands, b"before", partition=1)
    grow(servers, deployment.commands, 4)
    for value in (b"dropped", b"kept"):
        deployment.send(deployment.commands, value, partition=3)
    deployment.delete(deployment.commands, 3, 1)

    again = restart_from_progress(query, deployment.kafka)
    again.close()

    assert again.progress.offsets == {deployment.commands: [0, 0, 0, 1]}


@pytest.mark.proves("P-09")
def test_what_others_dropped_before_it_was_read_is_said_and_the_rest_is_read(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    query = replace(deployment.another("reactions"), outputs=())
    restart_from_progress(query, deployment.kafka).close()
    for value in (b"dropped", b"dropped", b"kept"):
        deployment.send(deployment.commands, value, partition=1)
    deployment.delete(deployment.commands, 1, 2)

    again = restart_from_progress(query, deployment.kafka)
    again.close()

    assert again.progress.offsets == {deployment.commands: [0, 2]}
    assert f"Kafka dropped 2 records of {deployment.commands}:1 before" in caplog.text


def test_decisions_are_read_where_they_were_written(deployment: Deployment) -> None:
    topics = Topics(APPLICATION, deployment=deployment.name)
    servers = str(deployment.kafka.settings["bootstrap.servers"])
    deployment.create(topics.skips)
    grow(servers, topics.skips, 3)
    decided = [
        SkipRecord(
            source=Source("t", n, 1), until_offset=2, operator="ada", reason="a test", decided_at=0
        )
        for n in range(6)
    ]

    write_skips(deployment.kafka.settings, topics, decided)

    assert read_skips(deployment.kafka.settings, topics) == decided
    assert {one.partition() for one in deployment.committed(topics.skips)} == {0}
