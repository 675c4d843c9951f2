"""Somebody adds partitions to a commands topic: the service stops before it decides there.

Kafka takes none away, so that a person has a way on, which is on record.
"""

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from tests.e2e.deployment import Deployment, await_ready
from tests.e2e.faults import last_words
from tests.e2e.test_recover import lived, place, refused
from verdict.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1500), pytest.mark.process]


@pytest.mark.thorough
@pytest.mark.proves("U-02")
def test_added_partitions_stop_the_service_until_a_person_accepts_them(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "added", tmp_path / "d")
    topic = deployment.topics.commands("order")
    placed = lived(deployment, seed=1)
    before = deployment.outcomes()

    with deployment.start() as service:
        await_ready(service)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_partitions([NewPartitions(topic, 6)])[topic].result(30)
        with deployment.traffic(seed=2):
            words = last_words(deployment, service)
    assert f"{topic} has 6 partitions, and had 4 when the service started" in words
    assert all(f"accept {topic} --why" in said for said in (words, refused(deployment)))
    assert not {one.partition for one in deployment.published() if one.topic == topic} & {4, 5}
    assert deployment.outcomes() >= before

    accepted = deployment.cli("topics", "accept", topic, "--why", "a test", "--by", "ada")
    assert (accepted.returncode, deployment.cli("topics", "check").returncode) == (0, 0)
    with deployment.running():
        deployment.await_quiet()
        assert place(deployment).event_ids == placed.event_ids
        query = f"select \"partition\" from decision where topic = '{topic}' and who = 'ada'"
        deployment.reaches(query, [4, 5])
    assert len((deployment.seen().marker or pytest.fail("none")).offsets[topic]) == 6
    with deployment.running():
        pass  # what was decided with is what there is
