"""With exactly the ACLs that are printed, each role does its work on a broker that asks."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.e2e.secured.life import READS, TOPICS, Environment, as_role, options_of, verdict
from verdict.event_log.subscription import subscribe
from verdict.kafka.acls import Role

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.process, pytest.mark.timeout(300)]


@pytest.mark.proves("S-04")
@pytest.mark.long
def test_a_service_decides_what_a_sender_sends(shown: dict[str, str]) -> None:
    assert shown["send"] == "ACCEPTED order 'o-1' version 0 → 1\n"


@pytest.mark.proves("S-04")
def test_a_reader_sees_topics_and_what_became_of_them(shown: dict[str, str]) -> None:
    """Each of these ended with 0; `topics check` has nothing to say then."""
    silent = [" ".join(verb) for verb in READS if not shown[" ".join(verb)]]
    assert set(silent) <= {"topics check", "topics check --json"}


def test_a_subscriber_follows_events(
    shown: dict[str, str], settings: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in as_role(Role.SUBSCRIBER, settings).items():
        monkeypatch.setenv(name, value)

    with subscribe("order") as subscription:
        first = next(iter(subscription.events()))

    assert (first.event.aggregate_id, first.event.version) == ("o-1", 1)


@pytest.mark.proves("S-04")
@pytest.mark.parametrize("role", [Role.SENDER, Role.SUBSCRIBER, Role.READER])
@pytest.mark.parametrize(
    "topic", [TOPICS.events("order"), TOPICS.responses("order"), TOPICS.markers]
)
def test_nobody_but_the_service_writes_what_it_says(
    settings: Environment, role: Role, topic: str
) -> None:
    failed: list[KafkaError | None] = []
    producer = Producer(options(settings, role))
    producer.produce(topic, b"forged", b"o-1", on_delivery=lambda error, _: failed.append(error))
    producer.flush(30)

    [error] = failed
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_sender_reads_no_events(settings: Environment) -> None:
    said = verdict(as_role(Role.SENDER, settings), "tail", "events", "--no-follow", exit_code=1)
    assert "authoriz" in said.lower()


def test_nobody_fences_the_service(settings: Environment) -> None:
    fencing = {"transactional.id": TOPICS.transactional_id("decider")}
    producer = Producer(options(settings, Role.SENDER) | fencing)
    with pytest.raises(KafkaException, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        producer.init_transactions(30)


def options(settings: Environment, role: Role) -> dict[str, Any]:
    servers = {"bootstrap.servers": settings["VERDICT_BOOTSTRAP_SERVERS"], "log_level": 0}
    return options_of(as_role(role, settings)) | servers
