"""What the service and its recovery both stand on: a locked directory, Kafka, topics, Spark."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from pyspark.sql import SparkSession

from verdict.configuration.batch_size import check_batch_size, transaction_timeout_s
from verdict.configuration.found import withdraw
from verdict.configuration.kafka import java_options, librdkafka_options, spark_options
from verdict.configuration.loading import SettingsInvalid
from verdict.configuration.settings import Settings
from verdict.foundation.ensured_topics import ensured_topics
from verdict.kafka.access import Kafka
from verdict.kafka.topic_check import TopicAdmin
from verdict.local import private
from verdict.local.broker import EmbeddedBroker
from verdict.local.lock import DataDirectoryLock
from verdict.spark.kafka_access import see_that_spark_gets_in
from verdict.spark.session import jvm_exit_code, spark_session
from verdict.spark.source import Ground
from verdict.wire.generate import see_that_all_are_written
from verdict.wire.marker import Marker

SPARK = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation(Ground):
    """What runs, and how to reach it.

    `marker` is the decider's, as far as it could be read without waiting for anybody; `broker` is
    the embedded one, if that is used.
    """

    servers: str
    marker: Marker | None
    broker: EmbeddedBroker | None


def lay_foundation(settings: Settings, parts: ExitStack) -> Foundation:
    """Lock the data directory, start Spark and, unless one is given, Kafka; check the topics.

    Args:
        settings: All that can be chosen.
        parts: Takes what must be stopped, in reverse order.

    Raises:
        VerdictError: Something is missing, in use, or does not fit.
    """
    see_that_all_are_written()
    lock = parts.enter_context(DataDirectoryLock(settings.data_dir))
    private.close(settings.data_dir)
    withdraw(settings.data_dir)  # that of a process that was killed
    check_batch_size(settings)
    _see_that_kafka_lets_us_in(settings)
    with ThreadPoolExecutor(1) as beside:  # two JVMs start in the time of one
        broker = beside.submit(_broker, settings, parts)
        spark = _spark(settings, lock)
        parts.callback(_stop, spark)
        embedded = broker.result()
    servers = settings.bootstrap_servers if embedded is None else embedded.bootstrap_servers
    assert servers is not None
    if settings.kafka_security_protocol != "PLAINTEXT" or settings.spark_kafka:
        see_that_spark_gets_in(spark, java_options(settings) | {"bootstrap.servers": servers})
    kafka = Kafka(
        settings=librdkafka_options(settings) | {"bootstrap.servers": servers},
        transaction_timeout_s=transaction_timeout_s(settings),
    )
    return Foundation(
        spark=spark,
        kafka=kafka,
        source=spark_options(settings) | {"kafka.bootstrap.servers": servers},
        partitions=settings.partitions,
        scratch=settings.data_dir / SPARK,
        servers=servers,
        marker=ensured_topics(settings, kafka),
        broker=embedded,
    )


def _see_that_kafka_lets_us_in(settings: Settings) -> None:
    """Fail before Spark is started for nothing; and Spark's own client would try for ever."""
    if settings.bootstrap_servers is not None:
        servers = {"bootstrap.servers": settings.bootstrap_servers}
        TopicAdmin(librdkafka_options(settings) | servers, settings.topics).reach()
    elif settings.kafka_security_protocol != "PLAINTEXT":
        raise SettingsInvalid(
            f"kafka_security_protocol is {settings.kafka_security_protocol} and bootstrap_servers "
            "is not set: the embedded broker is for this machine and knows PLAINTEXT only; name "
            "your Kafka, or unset the kafka_ settings"
        )


def _broker(settings: Settings, parts: ExitStack) -> EmbeddedBroker | None:
    if settings.bootstrap_servers is not None:
        return None
    return parts.enter_context(EmbeddedBroker(settings.data_dir / "broker"))


def _stop(spark: SparkSession) -> None:
    if jvm_exit_code(spark) is None:
        spark.stop()


def _spark(settings: Settings, lock: DataDirectoryLock) -> SparkSession:
    return spark_session(
        f"verdict {settings.deployment}",
        settings.cores or os.cpu_count() or 1,
        settings.shards,
        settings.driver_memory,
        settings.data_dir / SPARK,
        keep_open=[lock.fileno()],  # the JVM writes there too, and may outlive us
    )
