"""A new topic that begins at given offsets, so that no place of a former one is given twice."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from verdict.kafka.access import ClientLog, Kafka
from verdict.kafka.errors import kafka_failed
from verdict.kafka.log import KafkaLog
from verdict.kafka.message_headers import headers_of
from verdict.kafka.writing import write_all
from verdict.wire.spans import Partition, Span

LOG = logging.getLogger("verdict.kafka")
ANSWER_S = 60.0


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
        missing = {place: begins[place] - before[place].end for place in lower}
        _write(kafka, (place._asdict() for place in lower for _ in range(missing[place])))
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
        _write(kafka, map(_again, others))
    _delete(kafka, {place: begins[place] for place in lower})


def _again(message: Message) -> dict[str, Any]:
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "key": message.key(),
        "value": message.value(),
        "headers": [*(headers_of(message) or ())],
    }


def _write(kafka: Kafka, records: Iterable[Mapping[str, Any]]) -> None:
    write_all(kafka.settings, records, "a new topic cannot be filled")


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
            servers = str(kafka.settings.get("bootstrap.servers"))
            raise kafka_failed(what, servers, error, "") from error
