"""A new topic that begins at given offsets, so that no place of a former one is given twice."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from verdict.errors import VerdictError
from verdict.kafka.access import ClientLog, Kafka
from verdict.kafka.errors import kafka_failed
from verdict.kafka.log import KafkaLog
from verdict.wire.spans import Partition, Span

ANSWER_S = 60.0
AT_ONCE = 10_000  # records, between two looks at what has arrived
SETTINGS = {"enable.idempotence": True, "acks": "all", "compression.type": "lz4", "linger.ms": 20}


def begin_at(kafka: Kafka, begins: Mapping[Partition, int]) -> None:
    """Return when the first record of each partition has this offset, or a later one.

    Kafka knows no other way than to write empty records up to there and to delete them. Done
    again after a kill, it goes on where it was.

    Args:
        kafka: Where the topics are; nobody else writes to them.
        begins: The first offset by partition.

    Raises:
        VerdictError: Below that lie records of somebody, which would be deleted with the empty
            ones; or Kafka refuses.
        Unreachable: It does not answer.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds(begins)
        lower = {
            place: Span(span.start, min(span.end, begins[place]))
            for place, span in kept.items()
            if span.start < begins[place]
        }
        for message in log.read(lower):
            if message.key() is not None or message.value() is not None:
                raise VerdictError(
                    f"{message.topic()} has a record at {message.partition()}:{message.offset()}, "
                    "where the former topic had one that was read: see what was written since it "
                    "was created anew, delete it, and try again"
                )
    for place in lower:
        _fill(kafka, place, begins[place] - kept[place].end)
    _delete(kafka, {place: begins[place] for place in lower})


def _fill(kafka: Kafka, place: Partition, count: int) -> None:
    failed: list[KafkaError] = []
    settings: dict[str, Any] = {**kafka.settings, **SETTINGS, "logger": ClientLog()}
    producer = Producer(settings)

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    for done in range(0, max(0, count), AT_ONCE):
        for _ in range(min(AT_ONCE, count - done)):
            producer.produce(place.topic, partition=place.partition, on_delivery=delivered)
        left = producer.flush(ANSWER_S)
        if left or failed:
            error = failed[0] if failed else KafkaError(KafkaError._TIMED_OUT)
            raise _failed(kafka, f"{place.topic} cannot be filled", KafkaException(error))


def _delete(kafka: Kafka, begins: Mapping[Partition, int]) -> None:
    if not begins:
        return
    settings: dict[str, Any] = {**kafka.settings, "logger": ClientLog()}
    wanted = [TopicPartition(*place, offset) for place, offset in begins.items()]
    for place, answer in AdminClient(settings).delete_records(wanted).items():
        try:
            answer.result(ANSWER_S)
        except KafkaException as error:
            what = f"the empty records of {place.topic} cannot be deleted"
            raise _failed(kafka, what, error) from error


def _failed(kafka: Kafka, what: str, error: KafkaException) -> VerdictError:
    return kafka_failed(what, str(kafka.settings.get("bootstrap.servers")), error, "")
