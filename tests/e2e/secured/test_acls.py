"""With exactly the ACLs that are printed, each role does its work on a broker that asks."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.e2e.secured.life import TOPICS, Environment, as_role, options_of, verdict
from verdict.cli.acls import KafkaPrincipal

pytestmark = pytest.mark.timeout(300)


@pytest.mark.proves("S-04")
@pytest.mark.parametrize(
    "role", [KafkaPrincipal.SENDER, KafkaPrincipal.SUBSCRIBER, KafkaPrincipal.READER]
)
@pytest.mark.parametrize(
    "topic", [TOPICS.events("order"), TOPICS.responses("order"), TOPICS.progress]
)
def test_only_the_service_writes_its_topics(
    settings: Environment, role: KafkaPrincipal, topic: str
) -> None:
    failed: list[KafkaError | None] = []
    producer = Producer(options(settings, role))
    producer.produce(topic, b"forged", b"o-1", on_delivery=lambda error, _: failed.append(error))
    producer.flush(30)

    [error] = failed
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_sender_reads_no_events(settings: Environment) -> None:
    said = verdict(
        as_role(KafkaPrincipal.SENDER, settings), "tail", "events", "--no-follow", exit_code=1
    )
    assert "authoriz" in said.lower()


def test_no_client_can_fence_the_service(settings: Environment) -> None:
    fencing = {"transactional.id": TOPICS.transactional_id("decider")}
    producer = Producer(options(settings, KafkaPrincipal.SENDER) | fencing)
    with pytest.raises(KafkaException, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        producer.init_transactions(30)


def options(settings: Environment, role: KafkaPrincipal) -> dict[str, Any]:
    servers = {"bootstrap.servers": settings["VERDICT_BOOTSTRAP_SERVERS"], "log_level": 0}
    return options_of(as_role(role, settings)) | servers
