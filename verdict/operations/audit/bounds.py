"""What an audit looks at while the service goes on: all that was decided when it began."""

from collections.abc import Callable
from typing import NamedTuple

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import AnyOffsets, ends
from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.as_of.resolving import DecidedUpTo
from verdict.wire.partitions import Spans
from verdict.wire.topics import Topics


class Cut(NamedTuple):
    """Commands before `decided` count, and all that came of them is there.

    `begun` are the offsets of commands that may have outcomes in it; behind them nothing can name a
    command. `kept` is what Kafka has of each partition.
    """

    decided: AnyOffsets
    begun: AnyOffsets
    kept: Spans


def cut(kafka: KafkaConfig, log: KafkaLog, topics: Topics) -> Cut:
    """Return what counts from now on.

    Without a progress record of the decider all commands count that there are.

    Raises:
        UnreachableError: Kafka does not answer, or a transaction stays open.
        VerdictError: A topic is missing.
    """
    decided = DecidedUpTo(kafka, topics)
    before = decided.progress_offsets()
    outputs = [of(name) for of in _outputs(topics) for name in topics.application.aggregate_types]
    decided.await_settled([*outputs, topics.dead_letters])
    commands = topics.every_commands()
    kept = log.bounds(log.places([*outputs, topics.dead_letters, *commands]))
    there_are = {topic: found for topic, found in ends(kept).items() if topic in commands}
    return Cut({**there_are, **before}, {**there_are, **decided.progress_offsets()}, kept)


def _outputs(topics: Topics) -> tuple[Callable[[str], str], ...]:
    return topics.events, topics.responses, topics.rejected
