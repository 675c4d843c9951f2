"""A read side belongs to the topics that it was filled from, by the ids that Kafka gave them."""

from collections.abc import Collection, Mapping

from verdict.configuration.settings import Settings
from verdict.kafka.access import Kafka
from verdict.kafka.identity import AnotherLog, Identities, Identity, refuse_another
from verdict.reading.reader import reader_of

FOLLOWED = "SELECT topic, topic_id, cluster_id FROM followed_topic"
REMEDY = (
    "Start with the Kafka and the database that belong together (bootstrap_servers, database_url); "
    "or name a database that is empty, which is filled from this Kafka's log"
)


def refuse_another_read_side(settings: Settings, kafka: Kafka) -> None:
    """Return if the database that is read was filled from the topics of this Kafka.

    Raises:
        AnotherLog: It was filled from another cluster, or from topics that are no more.
        Unreachable: The database or Kafka does not answer.
    """
    with reader_of(settings) as reader:
        rows = [*reader.select(FOLLOWED).rows]  # they are gone with the reader
    clusters = {cluster_id for _, _, cluster_id in rows}
    topic_ids = {topic: topic_id for topic, topic_id, _ in rows}
    topics = settings.topics.of_the_log()
    found = Identities(kafka).identity({*topics, *topic_ids})
    refuse_other_topics("the read side", clusters, topic_ids, topics, found)


def refuse_other_topics(
    whose: str,
    clusters: Collection[str],
    topic_ids: Mapping[str, str],
    topics: Collection[str],
    found: Identity,
) -> None:
    """Return if what was followed is what is followed now; a topic may be left.

    Args:
        whose: The read side, for people.
        clusters: Whose topics were followed, one at most.
        topic_ids: Those that were, with Kafka's ids, as they were written down.
        topics: All that may be followed now.
        found: As they are, and as those are that were followed.

    Raises:
        AnotherLog: They are others, or other ones by the same name.
    """
    ids = {
        name: topic_id
        for name, topic_id in topic_ids.items()
        if name in topics or name in found.topic_ids
    }
    for cluster_id in clusters or (None,):
        refuse_another(whose, Identity(cluster_id, ids), found, REMEDY)
    if topic_ids and topic_ids.keys().isdisjoint(topics):
        raise AnotherLog(
            f"{whose} belongs to another log: it was filled from {min(topic_ids)} and "
            f"others, and is asked to follow {min(topics)} and others. {REMEDY}"
        )
