"""How far a recovery reads: the end of every topic, and which outcomes are too old to remember."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.kafka.offsets import Offsets, ends, starts
from verdict.operator.log_head import LONGEST_STEP_MS

HOUR_MS = 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is read of each topic: from where Kafka still has it to a fixed end."""

    begins: Offsets
    ends: Offsets

    def are_whole(self, topics: Iterable[str]) -> bool:
        """Whether Kafka still has all that was ever written to these topics."""
        return not any(any(self.begins[topic]) for topic in topics)


def bounds_of(kafka: Kafka, topics: Sequence[str]) -> Bounds:
    """Return how far `topics` are committed, once nothing is open there any more.

    Call it as the owner: then nobody writes there any more.

    Raises:
        Unreachable: Kafka does not answer, or a transaction of somebody else stays open.
        VerdictError: A topic does not exist.
    """
    with KafkaLog(kafka.settings, 2 * kafka.transaction_timeout_s) as log:
        places = log.places(topics)
        log.await_settled(places, "events and responses cannot be folded")
        kept = log.bounds(places)
    return Bounds(starts(kept), ends(kept))


def remembered_since(hours: Iterable[int], keep_ms: int) -> int:
    """Return the time before which no response is remembered, in epoch milliseconds; pure.

    As by the clock of a shard's state, what passes between two responses counts half a day at
    most: so those that one leap of a clock has stamped cost the others no more than that.

    Args:
        hours: In which of them, counted from the epoch, something was answered.
        keep_ms: For how long an outcome is kept.
    """
    passed, newest_first = 0, sorted(set(hours), reverse=True)
    for later, earlier in pairwise(newest_first):
        passed += min((later - earlier) * HOUR_MS, LONGEST_STEP_MS)
        if passed > keep_ms + HOUR_MS:
            return later * HOUR_MS
    return 0
