"""A new topic that begins at given offsets, so that no place of a former one is given twice."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from verdict.errors import VerdictError
from verdict.kafka.access import ClientLog, Kafka
from verdict.kafka.errors import kafka_failed
from verdict.kafka.log import KafkaLog
from verdict.wire.spans import Partition, Span

LOG = logging.getLogger("verdict.kafka")
ANSWER_S = 60.0
AT_ONCE = 10_000  # records, between two looks at what has arrived
SETTINGS = {"enable.idempotence": True, "acks": "all", "compression.type": "lz4", "linger.ms": 20}


def begin_at(kafka: Kafka, begins: Mapping[Partition, int]) -> None:
    """Return when the first record of each partition has this offset, or a later one.

    Kafka knows no other way than to write empty records up to there and to delete them. What
    others write meanwhile is put behind, in its order; done again after a kill, some of it twice.

    Args:
        kafka: Where the topics are.
        begins: The first offset by partition.

    Raises:
        VerdictError: Kafka refuses.
        Unreachable: It does not answer.
    """
    with KafkaLog(kafka.settings) as log:
        before = log.bounds(begins)
        lower = [place for place, span in before.items() if span.start < begins[place]]
        for place in lower:
            missing = begins[place] - before[place].end
            _write(kafka, ((place, EMPTY) for _ in range(missing)))
        after = log.written(lower)
        # nobody can write below any more; where nobody has, there is nothing to look through
        shared = {
            place: Span(before[place].start, begins[place])
            for place in lower
            if before[place].start < before[place].end or after[place] > begins[place]
        }
        others = [one for one in log.read(shared) if (one.key(), one.value()) != (None, None)]
    if others:
        LOG.warning("%s records that others have written are put behind", len(others))
    _write(kafka, ((_place(one), _content(one)) for one in others))
    _delete(kafka, {place: begins[place] for place in lower})


Content = Mapping[str, Any]
EMPTY: Content = {}


def _place(message: Message) -> Partition:
    return Partition(str(message.topic()), message.partition() or 0)


def _content(message: Message) -> Content:
    return {"key": message.key(), "value": message.value(), "headers": message.headers()}


def _write(kafka: Kafka, records: Iterable[tuple[Partition, Content]]) -> None:
    failed: list[KafkaError] = []
    settings: dict[str, Any] = {**kafka.settings, **SETTINGS, "logger": ClientLog()}
    producer = Producer(settings)

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    def arrived(name: str) -> None:
        if producer.flush(ANSWER_S) or failed:
            error = failed[0] if failed else KafkaError(KafkaError._TIMED_OUT)
            raise _failed(kafka, f"{name} cannot be written to", KafkaException(error))

    name = ""
    for count, ((name, partition), content) in enumerate(records):
        producer.produce(name, partition=partition, on_delivery=delivered, **content)
        if count % AT_ONCE == AT_ONCE - 1:
            arrived(name)
    arrived(name)


def _delete(kafka: Kafka, begins: Mapping[Partition, int]) -> None:
    if not begins:
        return
    settings: dict[str, Any] = {**kafka.settings, "logger": ClientLog()}
    wanted = [TopicPartition(*place, offset) for place, offset in begins.items()]
    admin = AdminClient(settings)  # let go, it never answers
    for place, answer in admin.delete_records(wanted).items():
        try:
            answer.result(ANSWER_S)
        except KafkaException as error:
            what = f"the empty records of {place.topic} cannot be deleted"
            raise _failed(kafka, what, error) from error


def _failed(kafka: Kafka, what: str, error: KafkaException) -> VerdictError:
    return kafka_failed(what, str(kafka.settings.get("bootstrap.servers")), error, "")
