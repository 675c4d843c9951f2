"""Where the partitions of topics end now, and where somebody's transaction keeps what is there."""

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from verdict.configuration.found import kafka_options
from verdict.configuration.settings import Settings
from verdict.kafka.log import KafkaLog
from verdict.wire.spans import Partition

Ends = Mapping[Partition, int]
"""The offset behind the last record of each, be its transaction ended or not."""

OPEN_S = 2.0  # an ordinary transaction has ended by then, or another one is the first


def ends_of(settings: Settings, topics: Collection[str]) -> Ends:
    """Return the ends of every partition of those topics that exist.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: It does not let us see one of them.
    """
    with _existing(settings, topics) as (log, places):
        return log.written(places)


def ends_and_open(settings: Settings, topics: Collection[str]) -> tuple[Ends, Ends]:
    """Return the ends, and where a transaction stays open: nobody reads beyond that offset.

    Raises:
        Unreachable, VerdictError: As `ends_of`.
    """
    with _existing(settings, topics) as (log, places):
        ends = log.written(places)
        return ends, _open(log, ends)


def _open(log: KafkaLog, ends: Ends) -> Ends:
    readable = {place: span.end for place, span in log.bounds([*ends]).items()}
    hidden = {place: end for place, end in readable.items() if end < ends[place]}
    if not hidden:
        return {}
    time.sleep(OPEN_S)
    later = log.bounds([*hidden])
    return {place: end for place, end in hidden.items() if later[place].end == end}


@contextmanager
def _existing(
    settings: Settings, topics: Collection[str]
) -> Iterator[tuple[KafkaLog, list[Partition]]]:
    with KafkaLog(kafka_options(settings)) as log:
        listed = log.topics()
        # the others one by one, as Kafka leaves out of a whole list what we may not see
        there = [one for one in sorted(topics) if one in listed or log.exists(one)]
        yield log, log.places(there)
