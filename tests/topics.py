"""Topics of a test: those that it needs, as each costs the broker time and memory."""

from collections.abc import Collection, Mapping, Sequence

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide two
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

from verdict.wire.topics import Topics

OF_SENDERS = {"message.timestamp.type": "CreateTime"}


def drop(servers: str, topic: str, before: Mapping[int, int]) -> None:
    """Let Kafka forget what is before an offset of each partition, as retention does."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    places = [TopicPartition(topic, number, offset) for number, offset in before.items()]
    for dropped in admin.delete_records(places).values():
        dropped.result(30)


def create(
    servers: str, topics: Topics, needed: Collection[str], timed: Collection[str] = ()
) -> None:
    """Create what is missing of a deployment's topics; return when each new one has a leader.

    Args:
        servers: Where Kafka is.
        topics: Of the deployment.
        needed: Names of some of them.
        timed: Those whose records have the times that the test says.
    """
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    # asked first, the client knows the controller too; else it looks twice a second where that is
    known = admin.list_topics(timeout=30).topics
    made = [
        NewTopic(
            topic.name,
            topic.partitions,
            1,
            config={**topic.settings} | (OF_SENDERS if topic.name in timed else {}),
        )
        for topic in topics.all()
        if topic.name in needed and topic.name not in known
    ]
    create_new(admin, made)


def create_new(admin: AdminClient, made: Sequence[NewTopic]) -> None:
    """Create topics; return when each has a leader, which a busy broker lists a little later."""
    for created in (admin.create_topics([*made]) if made else {}).values():
        created.result(30)
    waited_for = {topic.topic for topic in made}
    while waited_for:
        listed = admin.list_topics(timeout=30).topics
        waited_for = {
            name
            for name in waited_for
            if name not in listed or any(p.leader < 0 for p in listed[name].partitions.values())
        }


def grow(servers: str, topic: str, partitions: int) -> None:
    """Give a topic more partitions; return when brokers list them."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
    while len(admin.list_topics(topic, timeout=30).topics[topic].partitions) < partitions:
        pass


def describe(servers: str, *topics: str) -> dict[str, dict[str, str]]:
    """Return all settings of topics, as Kafka describes them."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    wanted = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    return {
        one.name: {name: entry.value for name, entry in answer.result(30).items()}
        for one, answer in admin.describe_configs(wanted).items()
    }


def alter(servers: str, topic: str, settings: Mapping[str, str]) -> None:
    """Give a topic other settings; return when Kafka says so."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    changed = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    [answer] = admin.incremental_alter_configs([changed]).values()
    answer.result(30)
    while not settings.items() <= describe(servers, topic)[topic].items():
        pass
