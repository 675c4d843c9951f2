"""What an audit looks at while the service goes on: all that was decided when it began."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from verdict.application import current
from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.read_models.as_of.decided import Decided
from verdict.wire.spans import Partition
from verdict.wire.topics import Topics

Offsets = Mapping[str, Sequence[int]]


class Cut(NamedTuple):
    """Ends of all topics; commands before `decided` count, and all that came of them is there.

    `begun` are the offsets of commands that may have outcomes before the ends; behind them nothing
    can name a command. `earliest` is the first offset that Kafka has of each partition.
    """

    decided: Offsets
    begun: Offsets
    ends: Mapping[Partition, int]
    earliest: Mapping[Partition, int]


def cut(kafka: Kafka, log: KafkaLog, topics: Topics) -> Cut:
    """Return what counts from now on.

    Without a marker of the decider all commands count that there are.

    Raises:
        Unreachable: Kafka does not answer, or a transaction stays open.
        VerdictError: A topic is missing.
    """
    decided = Decided(kafka, log, topics)
    before = decided.marker_offsets()
    outputs = [of(name) for of in _outputs(topics) for name in current().aggregate_types]
    decided.await_settled([*outputs, topics.dead_letters])
    commands = topics.every_commands()
    bounds = {
        Partition(topic, number): log.bounds(topic, number)
        for topic in (*outputs, topics.dead_letters, *commands)
        for number in range(log.partitions(topic))
    }
    all_there_are = {
        topic: [end for place, (_, end) in bounds.items() if place.topic == topic]
        for topic in commands
    }
    return Cut(
        all_there_are | dict(before),
        all_there_are | dict(decided.marker_offsets()),
        {place: end for place, (_, end) in bounds.items()},
        {place: earliest for place, (earliest, _) in bounds.items()},
    )


def _outputs(topics: Topics) -> tuple[Callable[[str], str], ...]:
    return topics.events, topics.responses, topics.rejected
