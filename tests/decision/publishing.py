"""From answers to the records that the operator would publish of them."""

from collections.abc import Iterator

from tests.application import APPLICATION
from tests.comparison import Published
from tests.decision.desk import Answer, command_record
from tests.model import Record
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.records import encode
from verdict.wire.topics import Topics
from verdict.write_side.processor.outputs import OutputBatch

OUTPUTS = OutputBatch(Topics(APPLICATION))


def published(record: Record, answer: Answer) -> Iterator[OutputRecord]:
    """Yield what the operator would publish of an answer."""
    aggregate_type = record.topic.removesuffix(".commands")
    for stored in answer.events:
        topic, key = f"{aggregate_type}.events", stored.event.aggregate_id.encode()
        yield OutputRecord(topic, key, stored.value, "{}", True)
    if answer.response is not None:
        response = answer.response
        key, refused = response.aggregate_id.encode(), response.reason
        yield from OUTPUTS.of_answer(
            response.aggregate_type,
            key,
            command_record(record),
            encode(response),
            None if response.duplicate else refused,
        )
    if answer.letter is not None:
        yield OUTPUTS.of_dead_letter(answer.letter)


def placed(outputs: list[OutputRecord]) -> list[Published]:
    """Return outputs as topics of one partition would hold them."""
    return [
        Published(output.topic, 0, offset, output.key, output.value)
        for offset, output in enumerate(outputs)
    ]
