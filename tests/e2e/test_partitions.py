"""Somebody adds partitions, and Kafka takes none away.

On a commands topic the service stops before it decides there, until an operator accepts that on
record. On any other topic they stay empty and stop nothing.
"""

from pathlib import Path

import pytest

from tests.e2e.test_recover import place, recovered, refused
from tests.kit.faults import last_words
from tests.kit.service import Deployment, await_ready
from tests.topics import grow
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.response import Response

pytestmark = pytest.mark.timeout(1500)

VERBS = (
    ("history", "order", "order-1"),
    ("verify",),
    ("projection", "rebuild", "us_holder"),
    ("export", "client_recent_order", "--as-of", "now", "--to", "-"),
)


@pytest.mark.thorough
@pytest.mark.proves("U-02")
def test_added_partitions_of_commands_stop_the_service_until_they_are_accepted_and_others_do_not(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "added", tmp_path / "d")
    placed = add_to_other_topics(deployment)
    topic = deployment.topics.commands("order")
    before = deployment.outcomes()

    with deployment.start() as service:
        await_ready(service)
        grow(broker.bootstrap_servers, topic, 6)
        with deployment.traffic(seed=3):
            words = last_words(deployment, service)
    assert f"{topic} has 6 partitions, and had 4 when the service started" in words
    assert all(f"accept {topic} --reason" in said for said in (words, refused(deployment)))
    assert deployment.outcomes() >= before

    accepted = deployment.cli("topics", "accept", topic, "--reason", "a test", "--operator", "ada")
    assert accepted.returncode == 0
    with deployment.running():
        deployment.await_quiet()
        assert place(deployment).event_ids == placed.event_ids
        query = (
            f"select \"partition\" from skipped_record where topic = '{topic}' and operator = 'ada'"
        )
        deployment.reaches(query, [4, 5])
    assert len((deployment.seen().progress or pytest.fail("none")).offsets[topic]) == 6
    with deployment.running():
        pass  # what was decided with is what there is


def add_to_other_topics(deployment: Deployment) -> Response:
    """Let a service live with added partitions that stay empty, and recover it."""
    with deployment.running():
        with deployment.traffic(seed=1):
            placed = place(deployment)
        for other, count in deployment.topics.outputs().items():
            grow(deployment.servers, other, count + 2)
        with deployment.traffic(seed=2):
            assert place(deployment).event_ids == placed.event_ids
        deployment.await_quiet()
        deployment.await_read_side()
        for verb in VERBS:
            done = deployment.cli(*verb)
            assert done.returncode == 0, done.stderr
        checked = deployment.cli("status", "--check")
        assert checked.returncode == 1
        assert "order.events: partitions is 6, must be 4" in checked.stdout
    recovered(deployment)
    with deployment.running():
        assert place(deployment).event_ids == placed.event_ids
        deployment.await_read_side()
    assert "somebody added partitions to 23 topics" in deployment.said()
    assert {one.partition for one in deployment.published()} <= {0, 1, 2, 3}
    deployment.assert_as_the_model_says()
    return placed
