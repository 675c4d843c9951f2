"""Topics of a test: those that it needs, as each costs the broker time and memory."""

from collections.abc import Collection, Mapping, Sequence

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from verdict.wire.topics import Topics

OF_SENDERS = {"message.timestamp.type": "CreateTime"}


def drop(servers: str, topic: str, before: Mapping[int, int]) -> None:
    """Let Kafka forget what lies before an offset of each partition, as retention does."""
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
