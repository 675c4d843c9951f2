"""A marker belongs to one log: to a cluster, and to topics, by the ids that Kafka gave them."""

from collections.abc import Sequence
from dataclasses import replace

from verdict.exactly_once.query import Query
from verdict.kafka.access import Kafka
from verdict.kafka.identity import Identities, Identity, changes, refuse_another, refuse_changes
from verdict.wire.marker import Marker
from verdict.wire.topics import Topics


def belonging(marker: Marker, query: Query, kafka: Kafka) -> Marker:
    """Return `marker` with the ids of Kafka and the query's topics, if it has no others.

    A marker without ids, of an older version, adopts those of today; so does any of topics that
    it did not know. What it says of topics that the query has no more is kept.

    Raises:
        AnotherLog: It is of another cluster, or a topic was deleted, whether created anew or not.
        Unreachable: Kafka does not answer.
    """
    found = Identities(kafka).identity(query.topics)
    refuse_another(whose(query), known(marker, query), found)
    return replace(
        marker, cluster_id=found.cluster_id, topic_ids={**marker.topic_ids, **found.topic_ids}
    )


def refuse_other_topics(
    markers: Sequence[tuple[Query, Marker]], kafka: Kafka, topics: Topics
) -> None:
    """Return if nothing that the markers speak of is gone, or another one; before any is created.

    A marker without ids knows topics by the aggregates it has read.

    Raises:
        AnotherLog: Something is; all of it is named.
        Unreachable: Kafka does not answer.
    """
    if not markers:
        return
    every = frozenset[str]().union(*(query.topics for query, _ in markers))
    found = Identities(kafka).identity(every)
    refuse_changes(
        {whose(query): _changes(marker, query, found, topics) for query, marker in markers}
    )


def _changes(marker: Marker, query: Query, found: Identity, topics: Topics) -> list[str]:
    noted = known(marker, query)
    if not marker.topic_ids:
        of_old = {name for read in marker.offsets for name in (read, *topics.beside(read))}
        gone = of_old & query.topics - found.topic_ids.keys()
        noted = Identity(None, dict.fromkeys(gone, "that nobody noted"))
    return changes(noted, found)


def whose(query: Query) -> str:
    """Return what is compared, for people."""
    return f"the marker of {query.name}"


def known(marker: Marker, query: Query) -> Identity:
    """Return the ids that `marker` has of what the query speaks of today."""
    ids = {name: one for name, one in marker.topic_ids.items() if name in query.topics}
    return Identity(marker.cluster_id, ids)
