"""G-01: topics have one owner, by the ids of the topics and not by the name of a deployment."""

from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.application import APPLICATION
from tests.topics import create
from tests.wire.examples import PLACED_PROGRESS
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identities, Identity
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import VerdictError
from verdict.operations.repair.positions import begin_as_owner
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.errors import UnreadableProgressRecordError
from verdict.streaming.exactly_once.query import OWNER
from verdict.streaming.exactly_once.topic_owner import (
    OtherOwnerError,
    check_topics_owner,
    claim_topics,
    is_owner,
)
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

HERE = Identity("here", {"order.events": "b", "order.commands": "c"})
CLAIM = replace(PLACED_PROGRESS, owner="blue", cluster_id="here", topic_ids=dict(HERE.topic_ids))


def test_a_deployment_that_has_claimed_all_topics_owns_them() -> None:
    assert is_owner(CLAIM, "blue", HERE)
    assert not is_owner(None, "blue", HERE)
    more = Identity("here", {**HERE.topic_ids, "loyalty.events": "d"})
    assert not is_owner(CLAIM, "blue", more)  # and claims the new ones, too


def test_one_topic_in_common_is_enough_to_be_refused() -> None:
    with pytest.raises(OtherOwnerError, match=r"order\.events belong to the deployment 'blue'"):
        is_owner(CLAIM, "green", Identity("here", {"order.events": "b", "order.commands": "new"}))


def test_deleted_topics_have_no_owner() -> None:
    assert not is_owner(CLAIM, "green", Identity("here", {"order.events": "new"}))


@pytest.fixture(scope="module")
def kafka(broker: EmbeddedBroker) -> KafkaConfig:
    return KafkaConfig(settings={"bootstrap.servers": broker.bootstrap_servers})


@pytest.mark.proves("G-01")
def test_a_person_says_whose_topics_are_that_garbage_hides(
    broker: EmbeddedBroker, kafka: KafkaConfig
) -> None:
    blue, green = Topics(APPLICATION, "blue", "hidden."), Topics(APPLICATION, "green", "hidden.")
    names = [blue.owners, blue.skips, blue.events("order")]
    create(broker.bootstrap_servers, blue, names)
    claim_topics(blue, kafka)
    producer = Producer(dict(kafka.settings))
    producer.produce(blue.owners, b"garbage", OWNER)
    assert producer.flush(30) == 0
    for claim in (claim_topics, check_topics_owner):
        with pytest.raises(UnreadableProgressRecordError, match="`verdict reset-progress owner"):
            claim(blue, kafka)

    begin_as_owner(kafka, blue, SkipRequest(operator="ada", reason="a test", at=5))

    claim_topics(blue, kafka)
    with pytest.raises(OtherOwnerError):
        begin_as_owner(kafka, green, SkipRequest(operator="eve", reason="to have them", at=5))
    with pytest.raises(VerdictError, match="those of 'blue' already"):
        begin_as_owner(kafka, blue, SkipRequest(operator="ada", reason="again", at=5))
    [decided] = read_skips(kafka.settings, blue)
    assert (decided.operator, decided.reason) == ("ada", "the topics are those of blue: a test")
    assert decided.source.topic == blue.owners


def test_a_claim_ends_the_transaction_that_a_killed_process_left_open(
    broker: EmbeddedBroker, kafka: KafkaConfig
) -> None:
    """Kafka aborts it by itself much later."""
    topics = Topics(APPLICATION, "blue", "killed.")
    create(broker.bootstrap_servers, topics, [topics.owners])
    with closing(Transactions(kafka, topics.owners)) as killed:
        killed.begin()
        killed.produce(topics.owners, OWNER.encode(), b"a claim")
        killed.flush()

        claim_topics(topics, kafka)

        check_topics_owner(topics, kafka)


@pytest.mark.proves("G-01")
def test_the_first_one_has_the_topics_until_they_are_deleted(kafka: KafkaConfig) -> None:
    blue, green = Topics(APPLICATION, "blue", "owned."), Topics(APPLICATION, "green", "owned.")
    admin = AdminClient({**kafka.settings, "log_level": 0})
    identities = Identities(kafka)

    def create(*names: str) -> None:
        for created in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            created.result(30)
        while identities.identity(names).topic_ids.keys() != {*names}:
            pass

    check_topics_owner(green, kafka)  # there is nothing yet
    create(blue.owners, blue.dead_letters, blue.events("order"))
    claim_topics(blue, kafka)
    claimed = written(kafka, blue)
    claim_topics(blue, kafka)
    assert written(kafka, blue) == claimed  # every later start only reads

    for claim in (claim_topics, check_topics_owner):
        with pytest.raises(OtherOwnerError, match="'blue', and this one is 'green'"):
            claim(green, kafka)

    former = identities.identity([blue.dead_letters, blue.events("order")]).topic_ids
    for deleted in admin.delete_topics([*former]).values():
        deleted.result(30)
    create(*former)
    now = former
    while now.keys() != former.keys() or {*now.values()} & {*former.values()}:
        now = identities.identity([*former]).topic_ids  # a busy broker knows a little later
    claim_topics(green, kafka)
    with pytest.raises(OtherOwnerError, match="'green', and this one is 'blue'"):
        claim_topics(blue, kafka)


def written(kafka: KafkaConfig, topics: Topics) -> int:
    """Return how far the topic of owners goes."""
    place = TopicPartition(topics.owners, 0)
    with KafkaLog(kafka.settings, 30) as log:
        return log.await_settled([place], "the claim cannot be seen")[place]
