"""Under which names Kafka and its marker know the lake, and where it is; light, to look at."""

from pathlib import Path

from verdict.configuration.settings import Settings
from verdict.exactly_once.query import Query, query_of
from verdict.wire.topics import Topics

NAME = "lake"


def lake_dir(settings: Settings) -> Path:
    """Return where the lake of these settings is: never in an object store, which cannot rename."""
    beside = settings.data_dir if settings.in_object_store else settings.durable_dir
    return (settings.lake_dir or beside / NAME).absolute()


def lake_query(topics: Topics) -> Query:
    """Return the query as Kafka and its marker know it; its outputs are files.

    An application without a lake has one that reads nothing.
    """
    table = topics.application.lake
    return query_of(
        topics,
        NAME,
        inputs=[] if table is None else [topics.events(table.aggregate_type)],
        outputs=[],
        others=[topics.dead_letters],
        handler_version="1",
    )
