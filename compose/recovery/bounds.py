"""How far a recovery reads: the end of every topic, once nothing is open there any more."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from compose.errors import Unreachable
from compose.exactly_once.kafka import Kafka
from compose.exactly_once.offsets import Offsets, same
from compose.exactly_once.reading import Reader
from schemas.response import Response
from schemas.wire.codec import Undecodable
from schemas.wire.records import decode

RETRY_S = 0.05
TAIL = 500  # offsets that are searched for the last record of a partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is read: every topic from its beginning to a fixed end.

    `now` is a time of Kafka's, in milliseconds, that the commands have reached; no outcome that
    the operator would still answer with had expired by then.
    """

    ends: Offsets
    now: int


def bounds_of(kafka: Kafka, events: Sequence[str], responses: Sequence[str]) -> Bounds:
    """Return how far `events` and `responses` are committed.

    Call it as the owner: then nobody writes there any more.

    Raises:
        Unreachable: Kafka does not answer, or a transaction of somebody else stays open.
        VerdictError: A topic does not exist.
    """
    with Reader(kafka, 2 * kafka.transaction_timeout_s) as reader:
        partitions = reader.partitions([*events, *responses])
        while True:
            ends = reader.latest(partitions, committed=True)
            written = reader.latest(partitions, committed=False)
            if same(ends, written):
                break
            if not reader.deadline.left():
                raise Unreachable(
                    "a transaction on a topic of events or responses has been open for "
                    f"{reader.deadline.seconds:g} s: end it with kafka-transactions.sh, then run "
                    "`verdict recover` again"
                )
            time.sleep(RETRY_S)
    return Bounds(ends=ends, now=_newest(kafka, responses, ends))


def _newest(kafka: Kafka, responses: Sequence[str], ends: Offsets) -> int:
    """Return the newest time among the last responses; forgetting begins from there."""
    newest = 0
    with Reader(kafka, 2 * kafka.transaction_timeout_s) as reader:
        begins = reader.earliest(reader.partitions(responses))
        for topic in responses:
            for partition, end in enumerate(ends[topic]):
                start = max(begins[topic][partition], end - TAIL)
                if start < end:
                    for message in reader.records(topic, partition, start, end):
                        newest = max(newest, _decided_at(message.value()))
    return newest


def _decided_at(value: bytes | str | None) -> int:
    try:
        return decode(Response, value if isinstance(value, bytes) else b"").decided_at
    except Undecodable:
        return 0  # the fold names it
