"""What a producer says of records that Kafka did not take."""

from dataclasses import dataclass
from typing import cast

import pytest
from confluent_kafka import KafkaError, Message

from verdict.streaming.exactly_once.call_errors import Failures, TransactionFailedError


@dataclass(frozen=True)
class Reported:
    """What a delivery report tells of its record."""

    name: bytes

    def topic(self) -> str:
        return "order.events"

    def key(self) -> bytes:
        return self.name

    def value(self) -> bytes:
        return b"12345"


def report(failures: Failures, code: int, key: bytes) -> None:
    failures.delivered(KafkaError(code), cast(Message, Reported(key)))


def test_the_cause_is_raised_though_purged_records_are_reported_first() -> None:
    failures = Failures()
    failures.delivered(None, cast(Message, Reported(b"order-1")))
    failures.check(is_complete=True)

    report(failures, KafkaError._PURGE_QUEUE, b"waited")
    failures.check()  # says nothing: the cause may still come
    with pytest.raises(TransactionFailedError, match=r"^1 records .* b'waited', 5 bytes$") as first:
        failures.check(is_complete=True)
    report(failures, KafkaError.MSG_SIZE_TOO_LARGE, b"large")
    report(failures, KafkaError._PURGE_QUEUE, b"waited, too")

    with pytest.raises(
        TransactionFailedError, match=r"^3 records .* too large .* b'large', 5 bytes$"
    ) as refused:
        failures.check()
    assert (first.value.passing, refused.value.passing) == (True, False)
