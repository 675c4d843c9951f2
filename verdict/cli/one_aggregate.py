"""What Kafka holds of one aggregate besides its events, and what the read side knows of it."""

from functools import partial
from typing import Any, NamedTuple

from verdict.cli.decoding import Kind, decoded, topics_of
from verdict.configuration.settings import Settings
from verdict.event_log.chapters import Fields
from verdict.event_log.key_places import place_of
from verdict.kafka.access import kafka_of
from verdict.kafka.log import KafkaLog
from verdict.reading.reader import Reader
from verdict.wire.spans import Partition
from verdict.wire.topics import Topics

# two statements on one view each would tell of two moments; what came between is in Kafka
REACHED = """\
SELECT min(p.next_offset) FROM projection_position p JOIN projection_live l
ON l.projection = p.projection AND l.version = p.version
WHERE p.projection = 'outcome' AND p.topic = :topic AND p."partition" = :partition"""

OUTCOMES = """\
SELECT * FROM outcome WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id
ORDER BY "partition", "offset\""""


class Scanned(NamedTuple):
    """An aggregate's records of one kind, from the first offset of its partition that is kept."""

    place: Partition
    earliest: int
    records: list[Fields]


def scan(log: KafkaLog, topics: Topics, kind: Kind, aggregate_type: str, name: str) -> Scanned:
    """Return an aggregate's records of one kind that Kafka still holds, in order.

    A command that was sent with another partitioner than murmur2 lies elsewhere and is not found;
    its response, its rejection and its events are.

    Raises:
        Unreachable, VerdictError: As for `KafkaLog`.
    """
    key = name.encode()
    [topic] = topics_of(topics, kind, [aggregate_type])
    place = place_of(log, topics, topic, key)
    kept = log.bounds([place])
    read = partial(decoded, topics.application, kind, aggregate_type)
    ours = [read(one) for one in log.read(kept) if one.key() == key]
    return Scanned(place, kept[place].start, ours)


def dead_letters(log: KafkaLog, topics: Topics, aggregate_type: str, name: str) -> list[Fields]:
    """Return the letters of an aggregate's commands, in order; raises as `scan`.

    Others put letters of their own on the topic. Of a key that is longer than any id a letter has
    the beginning, which may look like one.
    """
    commands = topics.commands(aggregate_type)
    found = scan(log, topics, Kind.DEAD_LETTERS, aggregate_type, name).records
    return [
        one
        for one in found
        if "source" in one  # else it is no letter
        and one["source"]["topic"] == commands
        and one["key_length"] is None
    ]


def settle(settings: Settings, aggregate_type: str, name: str) -> None:
    """Return when all transactions have ended that are open where the key's outcomes lie.

    Raises:
        Unreachable: One stays open for twice the transaction timeout.
    """
    kafka, topics = kafka_of(settings), settings.topics
    of_it = topics.events(aggregate_type), topics.responses(aggregate_type), topics.dead_letters
    with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
        places = [place_of(log, topics, topic, name.encode()) for topic in of_it]
        log.await_settled(places, f"the history of {aggregate_type} {name!r} cannot be told")


class Outcomes(NamedTuple):
    """What the read side has of an aggregate's outcomes: all up to an offset of the responses."""

    reached: int
    rows: list[Fields]


def outcomes_of(
    reader: Reader, place: Partition, aggregate_type: str, aggregate_id: str
) -> Outcomes:
    """Return the outcomes of an aggregate, those of one partition in the order of its commands.

    Args:
        reader: Of the read side.
        place: Topic and partition of its responses.
        aggregate_type: Of the aggregate.
        aggregate_id: Its id.
    """
    topic, number = place
    [(reached,)] = reader.select(REACHED, {"topic": topic, "partition": number}).rows
    asked = {"aggregate_type": aggregate_type, "aggregate_id": aggregate_id}
    found = reader.select(OUTCOMES, asked)
    rows = (dict(zip(found.columns, row, strict=True)) for row in found.rows)
    return Outcomes(int(reached or 0), [_response(row) for row in rows])


def _response(row: dict[str, Any]) -> Fields:
    """Return an outcome in the form of a response; a table does not know where that lay."""
    source = {name: row.pop(name) for name in ("topic", "partition", "offset")}
    nowhere = dict.fromkeys(source)
    return {**nowhere, **row, "duplicate": bool(row["duplicate"]), "source": source}
