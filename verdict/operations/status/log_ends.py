"""Where the partitions of topics end now, and where somebody's transaction keeps what is there."""

import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.time_text import wall_clock
from verdict.settings.settings import Settings
from verdict.wire.partitions import TopicPartition

Ends = Mapping[TopicPartition, int]
"""The offset behind the last record of each, be its transaction ended or not."""

ANSWER_S = 2.0  # for the first answer
OPEN_S = 2.0  # an ordinary transaction has ended by then, or another one is the first


def log_of(settings: Settings) -> KafkaLog:
    """Return a reader for all that a look asks of Kafka: a client takes longer than an answer.

    Raises:
        UnreachableError: No Kafka is set and no service runs, or Kafka does not answer.
        InvalidSettingsError: librdkafka does not accept the settings.
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
        UnreachableError: Kafka does not answer.
        VerdictError: It does not let us see one of them.
    """
    return log.written(_existing(log, topics))


def ends_and_open(
    log: KafkaLog, topics: Collection[str], outputs: Collection[str] = (), limit_s: float = 0.0
) -> tuple[Ends, Ends]:
    """Return the ends, and where a transaction stays open: nobody reads beyond that offset.

    Raises:
        UnreachableError, VerdictError: As `ends_of`.
    """
    ends = log.written(_existing(log, topics))
    hidden = log.hidden(ends)
    ours = {place: at for place, at in hidden.items() if place.topic in outputs}
    others = {place: at for place, at in hidden.items() if place not in ours}
    return ends, {**_older(log, ours, limit_s), **_lasting(log, others, ends)}


def _older(log: KafkaLog, hidden: Ends, limit_s: float) -> Ends:
    """Return those that were begun longer ago, by Kafka's clock; it ends one of ours by then."""
    since = log.first_since([*hidden], wall_clock() - int(limit_s * 1000)) if hidden else {}
    return {place: at for place, at in hidden.items() if at < since[place]}


def _lasting(log: KafkaLog, hidden: Ends, ends: Ends) -> Ends:
    """Return those that are open for a while; a sender's clock says nothing of that."""
    if not hidden:
        return {}
    time.sleep(OPEN_S)
    later = log.hidden({place: ends[place] for place in hidden})
    return {place: at for place, at in hidden.items() if later.get(place) == at}


def _existing(log: KafkaLog, topics: Collection[str]) -> list[TopicPartition]:
    listed = log.topics()
    # the others one by one, as Kafka leaves out of a whole list what we may not see
    return log.places([one for one in sorted(topics) if one in listed or log.exists(one)])
