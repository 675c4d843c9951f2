"""Reading a query's marker: its last committed record in the markers topic."""

import time
from typing import NamedTuple

from verdict.errors import Unreachable
from verdict.exactly_once.errors import UnreadableMarker
from verdict.exactly_once.query import Query
from verdict.kafka.access import Kafka
from verdict.kafka.offsets import Offsets
from verdict.kafka.reading import Reader
from verdict.wire.codec import Undecodable
from verdict.wire.marker import Marker
from verdict.wire.records import decode

FIRST_CHUNK = 128  # offsets; doubled until the marker is found
RETRY_S = 0.05


class Seen(NamedTuple):
    """A query's marker, None when it has none.

    `settled` is False when an open transaction stood in the way: a newer marker of this query may
    be committed behind it.
    """

    marker: Marker | None
    settled: bool


def read_marker(kafka: Kafka, query: Query, *, wait: bool) -> Seen:
    """Return the query's newest marker; disturbs nobody.

    Queries share the markers topic, and nothing behind an open transaction can be read.

    Args:
        kafka: Where to read.
        query: Whose marker.
        wait: Wait until every transaction has ended that is open now, so that what is returned is
            settled: normally for milliseconds, after a crash of another query until Kafka aborts
            its transaction (the transaction timeout, and up to 10 s more).

    Raises:
        Unreachable: Kafka does not answer within the transaction timeout, or with `wait` a
            transaction stays open for twice as long.
        UnreadableMarker: There is something else in its place.
        VerdictError: The markers topic does not exist.
    """
    place = {query.markers: 1}
    with Reader(kafka, kafka.transaction_timeout_s * (2 if wait else 1)) as reader:
        reader.partitions(place)  # a missing topic is named as such
        written = reader.latest(place, committed=False)[query.markers][0]
        while (end := reader.latest(place, committed=True)[query.markers][0]) < written and wait:
            if not reader.deadline.left():
                raise Unreachable(
                    f"the marker of {query.name} cannot be read: a transaction on {query.markers} "
                    f"has been open for {reader.deadline.seconds:g} s at offset {end}; "
                    "end it with kafka-transactions.sh, then start again"
                )
            time.sleep(RETRY_S)
        return Seen(_last(reader, query, end), settled=end >= written)


def holds_records(kafka: Kafka, topics: tuple[str, ...]) -> bool:
    """Tell whether any of `topics` holds a committed record, or held one that was deleted.

    Raises:
        Unreachable: Kafka does not answer within the transaction timeout.
        VerdictError: A topic does not exist.
    """
    with Reader(kafka, kafka.transaction_timeout_s) as reader:
        partitions = reader.partitions(topics)
        starts = reader.earliest(partitions)
        ends = reader.latest(partitions, committed=True)
        places = [(topic, number) for topic in topics for number in range(partitions[topic])]
        if any(starts[topic][number] for topic, number in places):
            return True
        # offsets alone do not tell: what was aborted takes some, too
        return any(
            next(reader.records(topic, number, 0, ends[topic][number]), None) is not None
            for topic, number in places
            if ends[topic][number]
        )


def first_offsets(kafka: Kafka, topics: tuple[str, ...]) -> Offsets:
    """Return the first offset that Kafka still holds, by partition, of each topic.

    Raises:
        Unreachable: Kafka does not answer within the transaction timeout.
        VerdictError: A topic does not exist.
    """
    with Reader(kafka, kafka.transaction_timeout_s) as reader:
        return reader.earliest(reader.partitions(topics))


def _last(reader: Reader, query: Query, end: int) -> Marker | None:
    """Read backwards: the topic may be long before it is compacted, the marker is near its end."""
    begin = reader.earliest({query.markers: 1})[query.markers][0]
    chunk = FIRST_CHUNK
    while end > begin:
        start = max(begin, end - chunk)
        ours = [
            message.value()
            for message in reader.records(query.markers, 0, start, end)
            if message.key() == query.key
        ]
        if ours:
            return _decoded(query, ours[-1])
        end, chunk = start, 2 * chunk
    return None


def _decoded(query: Query, value: bytes | str | None) -> Marker | None:
    if value is None:
        return None  # a tombstone: somebody has deleted the marker
    try:
        return decode(Marker, value if isinstance(value, bytes) else value.encode())
    except Undecodable as error:
        raise UnreadableMarker(
            f"the last record of {query.markers} under the key {query.name!r} is no marker "
            f"({error}): see who wrote it, then run `verdict recover`"
        ) from error
