"""How far a recovery reads: the end of every topic, and which outcomes are too old to remember."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from verdict.errors import Unreachable
from verdict.kafka.access import Kafka
from verdict.kafka.offsets import Offsets, same
from verdict.kafka.reading import Reader
from verdict.operator.log_head import LONGEST_STEP_MS

RETRY_S = 0.05
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
    with Reader(kafka, 2 * kafka.transaction_timeout_s) as reader:
        partitions = reader.partitions(topics)
        while True:
            ends = reader.latest(partitions, committed=True)
            written = reader.latest(partitions, committed=False)
            if same(ends, written):
                return Bounds(reader.earliest(partitions), ends)
            if not reader.deadline.left():
                raise Unreachable(
                    "a transaction on a topic of events or responses has been open for "
                    f"{reader.deadline.seconds:g} s: end it with kafka-transactions.sh, then run "
                    "`verdict recover` again"
                )
            time.sleep(RETRY_S)


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
