import time

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.application import APPLICATION
from tests.topics import create_new, describe, grow
from verdict.adapters.kafka.topic_drift import TopicSettingsError
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topics

PATIENCE_S = 60
OF_SENDER = "message.timestamp.type is CreateTime, must be LogAppendTime"


def checker(broker: EmbeddedBroker, topics: Topics) -> TopicAdmin:
    return TopicAdmin({"bootstrap.servers": broker.bootstrap_servers}, topics)


def test_what_is_missing_is_created_with_its_settings_once(broker: EmbeddedBroker) -> None:
    topics = Topics(APPLICATION, deployment="fresh", prefix="created.", partitions=3)
    admin = checker(broker, topics)

    first, *others = admin.differences()
    assert str(first) == (
        "created.POS: topic is missing, must be there (create it with `verdict topics create`)"
    )
    assert len(others) == len(list(topics.all())) - 1
    assert admin.ensure() == [topic.name for topic in topics.all()]
    assert admin.differences() == []
    assert admin.ensure() == []


@pytest.mark.proves("U-02")
def test_one_error_lists_every_difference(broker: EmbeddedBroker) -> None:
    topics = Topics(APPLICATION, deployment="wrong", prefix="differing.", partitions=3)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    wrong = [
        NewTopic("differing.order.commands", 2, 1, config={"cleanup.policy": "compact"}),
        NewTopic("differing.order.events", 3, 1),
    ]
    create_new(admin, wrong)
    before = describe(broker.bootstrap_servers, "differing.order.events")

    with pytest.raises(TopicSettingsError) as raised:
        checker(broker, topics).ensure()

    assert describe(broker.bootstrap_servers, "differing.order.events") == before, (
        "a refused start changes nothing"
    )
    assert str(raised.value).splitlines() == [
        "7 topic settings are not what they must be:",
        "  differing.order.commands: partitions is 2, must be 3",
        "  differing.order.commands: cleanup.policy is compact, must be delete",
        "  differing.order.commands: retention.ms is 604800000, must be 2592000000",
        f"  differing.order.commands: {OF_SENDER}",
        "  differing.order.events: retention.ms is 604800000, must be -1",
        "  differing.order.events: max.message.bytes is 1048588, must be 4194304",
        f"  differing.order.events: {OF_SENDER}",
        "fix them, settings with kafka-configs.sh --alter --entity-type topics --entity-name TOPIC "
        "--add-config SETTING=VALUE, and start again; the embedded Kafka answers while `verdict "
        "run broker` runs",
    ]


@pytest.mark.proves("P-09")
def test_topics_of_other_teams_are_accepted_as_they_are_and_never_altered(
    broker: EmbeddedBroker,
) -> None:
    topics = Topics(APPLICATION, prefix="theirs.", partitions=1)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    theirs = {
        "retention.ms": "3600000",
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
    }
    wrong = NewTopic(topics.events("order"), 1, 1, config={"cleanup.policy": "compact"})
    names = topics.inbound + topics.states
    made = [*(NewTopic(name, 7, 1, config=theirs) for name in names), wrong]
    create_new(admin, made)
    before = describe(broker.bootstrap_servers, *names)

    with pytest.raises(TopicSettingsError, match=r"order\.events: cleanup\.policy") as refused:
        checker(broker, topics).ensure()
    assert not any(name in str(refused.value) for name in names)
    assert describe(broker.bootstrap_servers, *names) == before
    admin.delete_topics([wrong.topic])[wrong.topic].result(30)
    end = time.monotonic() + PATIENCE_S
    while wrong.topic in checker(broker, topics).counts():
        assert time.monotonic() < end

    checker(broker, topics).ensure()

    assert describe(broker.bootstrap_servers, *names) == before
    assert {checker(broker, topics).counts()[name] for name in names} == {7}


@pytest.mark.proves("U-02")
def test_commands_topics_must_keep_the_partition_count_of_the_first_start(
    broker: EmbeddedBroker,
) -> None:
    began = Topics(APPLICATION, deployment="kept", prefix="kept.", partitions=2)
    checker(broker, began).ensure()
    decided = {"kept.order.commands": [5, 0, 1], "kept.position.commands": [0, 0]}

    [grown] = checker(broker, began).differences(decided)

    assert str(grown) == (
        "kept.order.commands: partitions is 2, must be 3 (commands were decided with 3: with "
        "another count keys move to other partitions and their order is lost)"
    )
    now = Topics(APPLICATION, deployment="kept", prefix="kept.", partitions=6)
    decided["kept.order.commands"] = [5, 0]
    found = {d.topic: d for d in checker(broker, now).differences(decided)}
    assert "set partitions to 2" in str(found["kept.order.commands"])
    assert "kept.order.events" not in found, "it has as many as it must"


@pytest.mark.proves("U-02")
def test_partitions_that_somebody_added_are_refused_until_a_person_accepts_them(
    broker: EmbeddedBroker,
) -> None:
    topics = Topics(APPLICATION, deployment="added", prefix="added.", partitions=2)
    check = checker(broker, topics)
    check.ensure()
    name, events = topics.commands("order"), topics.events("order")
    for one in (name, events):
        grow(broker.bootstrap_servers, one, 4)
    decided = {name: [5, 0], topics.commands("position"): [0, 0]}
    both = {
        TopicPartition(name, 2),
        TopicPartition(name, 3),
        TopicPartition(events, 2),
        TopicPartition(events, 3),
    }

    found = {d.topic: d for d in check.differences(decided)}

    assert {*found} == {name, events}
    assert f"`verdict topics accept {name} --reason …`" in str(found[name])
    assert f"`verdict topics accept {events} --reason …`" in str(found[events])
    assert "verdict writes to the first 2 only" in str(found[events])
    assert (found[name].fatal, found[events].fatal) == (True, False)
    as_commands_are = Topics(APPLICATION, deployment="added", prefix="added.", partitions=4)
    later = checker(broker, as_commands_are).differences(decided | {name: [5, 0, 1, 1]}, both)
    assert "set partitions to 2" in next(str(d) for d in later if d.topic == name)
    assert {d.topic for d in check.differences(decided, both - {TopicPartition(name, 3)})} == {name}
    assert check.differences(decided, both) == []
    assert check.differences(decided | {name: [5, 0, 1, 1]}, both) == []
