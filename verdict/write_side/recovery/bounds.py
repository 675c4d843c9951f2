"""How far a recovery reads: the end of every topic, and which outcomes are too old to remember."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.wire.partitions import Spans
from verdict.write_side.state.log_head import LONGEST_STEP_MS

HOUR_MS = 60 * 60 * 1000


def bounds_of(kafka: KafkaConfig, topics: Sequence[str]) -> Spans:
    """Return what Kafka has of `topics` that is committed, once nothing is open there any more.

    Call it as the owner: then nobody writes there any more.

    Raises:
        UnreachableError: Kafka does not answer, or a transaction of somebody else stays open.
        VerdictError: A topic does not exist.
    """
    with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
        places = log.places(topics)
        log.await_settled(places, "events and responses cannot be folded")
        return log.bounds(places)


def remembered_since(hours: Iterable[int], keep_ms: int) -> int:
    """Return the time before which no response is remembered, in epoch milliseconds; pure.

    As by the clock of a shard's state, what passes between two responses counts half a day at
    most: so those that one leap of a clock has stamped cost the others no more than that.
    """
    passed, newest_first = 0, sorted(set(hours), reverse=True)
    for later, earlier in pairwise(newest_first):
        passed += min((later - earlier) * HOUR_MS, LONGEST_STEP_MS)
        if passed > keep_ms + HOUR_MS:
            return later * HOUR_MS
    return 0
