"""Where the partitions of topics end now."""

from collections.abc import Collection, Mapping

from verdict.kafka.log import KafkaLog
from verdict.wire.spans import Partition

Ends = Mapping[Partition, int]
"""The offset behind the last record of each."""


def ends_of(log: KafkaLog, topics: Collection[str]) -> Ends:
    """Return the ends of every partition of those topics that exist."""
    kept = log.bounds(log.places(sorted(log.topics() & {*topics})))
    return {place: span.end for place, span in kept.items()}
