"""Where the decider had come to without its progress; anybody may write to `dead-letters`."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.application import APPLICATION
from tests.decide.desk import PLACE, command
from verdict.model.source import Source
from verdict.wire.cloud_events import DEAD_LETTER
from verdict.wire.command_record import dead_letter
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import encode
from verdict.wire.topics import Topics
from verdict.write_side.recovery.missing_progress import ANSWER, gaps, sources

TOPICS = Topics(APPLICATION)
COMMANDS = TOPICS.commands("order")
KEPT = {TopicPartition(COMMANDS, 0): OffsetRange(2, 9)}
OURS = DEAD_LETTER.encode()


def letter(topic: str = COMMANDS, partition: int = 0, offset: int = 8) -> bytes:
    record = command(PLACE).record._replace(source=Source(topic, partition, offset))
    return encode(dead_letter(record, "an error"))


def answered(value: bytes | None, kind: bytes | None) -> list[tuple[str, int, int]]:
    """Return which commands a letter answers."""
    batch = pa.RecordBatch.from_pydict(
        dict(zip(ANSWER, ([TOPICS.dead_letters], [value], [kind]), strict=True))
    )
    [found] = sources(TOPICS, KEPT, [batch])
    return [tuple(row.values()) for row in found.to_pylist()]


def test_the_letter_of_a_command_says_that_it_was_decided() -> None:
    assert answered(letter(), OURS) == [(COMMANDS, 0, 8)]


@pytest.mark.proves("C-17")
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (letter(), None),
        (letter(), b"com.example.Letter"),
        (letter(offset=9), OURS),
        (letter(partition=-1), OURS),
        (letter(partition=2**40), OURS),
        (letter(topic="payments"), OURS),
        (b"garbage", OURS),
        (None, OURS),
    ],
    ids=["no headers", "others", "ahead", "before", "far", "topic", "garbage", "tombstone"],
)
def test_a_letter_of_somebody_else_says_nothing(value: bytes | None, kind: bytes | None) -> None:
    assert answered(value, kind) == []


@pytest.mark.proves("C-17")
def test_commands_without_an_answer_are_between_and_after_those_with_one(
    spark: SparkSession,
) -> None:
    rows = [(COMMANDS, 0, offset) for offset in (3, 0, 3, 2)]
    ends = {
        TopicPartition(COMMANDS, 0): 6,
        TopicPartition(COMMANDS, 1): 2,
        TopicPartition(COMMANDS, 2): 0,
    }

    found = gaps(spark.createDataFrame(rows, "topic string, partition int, offset bigint"), ends)

    assert found == {
        TopicPartition(COMMANDS, 0): [OffsetRange(1, 2), OffsetRange(4, 6)],
        TopicPartition(COMMANDS, 1): [OffsetRange(0, 2)],
        TopicPartition(COMMANDS, 2): [],
    }
