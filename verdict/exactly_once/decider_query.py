"""Under which names Kafka and its marker know the decider; light, for those who only look."""

from verdict.exactly_once.query import DECIDER, Query, query_of
from verdict.wire.topics import Topics

NAME = DECIDER


def decider_query(topics: Topics, shards: int) -> Query:
    """Return the decider as Kafka and its marker know it.

    Args:
        topics: Of the deployment.
        shards: How many the very first start sets up.
    """
    names = topics.application.aggregate_types
    return query_of(
        topics,
        NAME,
        inputs=topics.every_commands(),
        outputs=[*map(topics.events, names), *map(topics.responses, names)],
        others=[topics.dead_letters, topics.decisions, *map(topics.rejected, names)],
        handler_version=topics.application.handler_versions,
        first_shards=shards,
    )
