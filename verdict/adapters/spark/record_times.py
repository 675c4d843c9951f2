"""Records with a time that Spark cannot hold: the driver reads them instead.

Spark counts microseconds, so a time in milliseconds that is too large or too small ends its reader.
Our own topics have Kafka's times; senders choose those of other teams' topics.
"""

from datetime import UTC, datetime, timedelta

from confluent_kafka import Message
from pyspark.sql import DataFrame, SparkSession

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog, header_bytes, headers_of
from verdict.adapters.spark.errors import error_texts
from verdict.model.message import END_OF_TIME
from verdict.wire.partitions import Spans

# as Kafka's source of Spark has them
KAFKA_COLUMNS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key STRING, value BINARY>>"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_time_overflow(error: BaseException) -> bool:
    """Tell whether a reader of Spark ended because a record's time does not fit microseconds."""
    return any("ArithmeticException" in text and "overflow" in text for text in error_texts(error))


def read_without_spark(spark: SparkSession, kafka: KafkaConfig, spans: Spans) -> DataFrame:
    """Return the records of `spans` with times that fit, held in the memory of the driver."""
    with KafkaLog(kafka.settings) as log:
        rows = [*map(_row, log.read(spans))]
    return spark.createDataFrame(rows, KAFKA_COLUMNS)


def _row(message: Message) -> tuple[object, ...]:
    millis = min(max(message.timestamp()[1], 0), END_OF_TIME)
    return (
        header_bytes(message.key()),
        header_bytes(message.value()),
        message.topic(),
        message.partition(),
        message.offset(),
        EPOCH + timedelta(milliseconds=millis),
        [*(headers_of(message) or ())],
    )
