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

    report(failures, KafkaError._PURGE_QUEUE, b"waited")
    failures.check()  # says nothing: the cause is still to come
    report(failures, KafkaError.MSG_SIZE_TOO_LARGE, b"large")

    with pytest.raises(
        TransactionFailedError, match=r"^2 records .* too large .* b'large', 5 bytes$"
    ) as told:
        failures.check()
    assert not told.value.passing


def test_purged_records_without_a_cause_are_raised_once_every_report_is_in() -> None:
    failures = Failures()

    report(failures, KafkaError._PURGE_INFLIGHT, b"waited")

    failures.check()
    with pytest.raises(TransactionFailedError, match=r"^1 records .* b'waited', 5 bytes$") as told:
        failures.check_all()
    assert told.value.passing


def test_nothing_is_raised_about_records_that_were_taken() -> None:
    failures = Failures()

    failures.delivered(None, cast(Message, Reported(b"order-1")))

    failures.check()
    failures.check_all()
