"""Where the partitions of topics end now, and where somebody's transaction keeps what is there."""

import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack

from verdict.configuration.settings import Settings
from verdict.kafka.access import kafka_of
from verdict.kafka.log import KafkaLog
from verdict.wire.spans import Partition

Ends = Mapping[Partition, int]
"""The offset behind the last record of each, be its transaction ended or not."""

ANSWER_S = 2.0  # for the first answer
OPEN_S = 2.0  # an ordinary transaction has ended by then, or another one is the first


def log_of(settings: Settings) -> KafkaLog:
    """Return a reader for all that a look asks of Kafka: a client takes longer than an answer.

    Raises:
        Unreachable: No Kafka is set and no service runs, or Kafka does not answer.
        SettingsInvalid: librdkafka does not accept the settings.
    """
    kafka = kafka_of(settings)
    log = KafkaLog(kafka.settings, kafka.transaction_timeout_s)
    with ExitStack() as held:
        held.enter_context(log)
        log.await_answer(ANSWER_S)
        held.pop_all()  # for the caller to close
    return log


def ends_of(log: KafkaLog, topics: Collection[str]) -> Ends:
    """Return the ends of every partition of those topics that exist.

    Raises:
        Unreachable: Kafka does not answer.
        VerdictError: It does not let us see one of them.
    """
    return log.written(_existing(log, topics))


def ends_and_open(log: KafkaLog, topics: Collection[str]) -> tuple[Ends, Ends]:
    """Return the ends, and where a transaction stays open: nobody reads beyond that offset.

    Raises:
        Unreachable, VerdictError: As `ends_of`.
    """
    ends = log.written(_existing(log, topics))
    return ends, _open(log, ends)


def _open(log: KafkaLog, ends: Ends) -> Ends:
    readable = {place: span.end for place, span in log.bounds([*ends]).items()}
    hidden = {place: end for place, end in readable.items() if end < ends[place]}
    if not hidden:
        return {}
    time.sleep(OPEN_S)
    later = log.bounds([*hidden])
    return {place: end for place, end in hidden.items() if later[place].end == end}


def _existing(log: KafkaLog, topics: Collection[str]) -> list[Partition]:
    listed = log.topics()
    # the others one by one, as Kafka leaves out of a whole list what we may not see
    return log.places([one for one in sorted(topics) if one in listed or log.exists(one)])
