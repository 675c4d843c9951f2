"""Records that are written once and for good, without a transaction."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from verdict.adapters.kafka.connection import ClientLog
from verdict.adapters.kafka.errors import kafka_failed
from verdict.adapters.kafka.reader import Options

ANSWER_S = 30.0
AT_ONCE = 10_000  # records, between two looks at what has arrived
SETTINGS = {"enable.idempotence": True, "acks": "all", "compression.type": "lz4"}


def write_all(options: Options, records: Iterable[Mapping[str, Any]], what: str) -> None:
    """Return when all of `records` are in Kafka, in their order.

    Raises:
        UnreachableError: Kafka does not answer.
        VerdictError: It refuses.
    """
    failed: list[KafkaError] = []
    settings: dict[str, Any] = {**options, **SETTINGS, "logger": ClientLog()}
    producer = Producer(settings)

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    def require_delivery() -> None:
        if producer.flush(ANSWER_S) or failed:
            error = failed[0] if failed else KafkaError(KafkaError._TIMED_OUT)
            raise kafka_failed(what, str(options["bootstrap.servers"]), KafkaException(error), "")

    for count, record in enumerate(records, 1):
        producer.produce(on_delivery=delivered, **record)
        if count % AT_ONCE == 0:
            require_delivery()
    require_delivery()
