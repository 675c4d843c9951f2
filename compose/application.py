"""Everything that runs, started in order and stopped in reverse."""

import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType

from pyspark.sql import SparkSession

from compose.database import create_read_side, open_database
from compose.deciding import Deciding, decider_query
from compose.exactly_once.kafka import Kafka
from compose.exactly_once.lock import DataDirectoryLock
from compose.exactly_once.markers import read_marker
from compose.exactly_once.steps import OnStep, unobserved
from compose.kafka_config import librdkafka_options, spark_options
from compose.local.broker import EmbeddedBroker
from compose.local.spark import spark_session
from compose.projecting import Projecting
from compose.read_side import ReadSide
from compose.service import Service, announce, database_url, withdraw
from compose.settings import Settings
from compose.topic_check import TopicAdmin
from projections.registry import projections

CHECK_S = 0.2
SPARK = "spark"

# Waiting for more data at the broker would be waiting twice: Spark gathers what comes while a
# batch runs. With Kafka's default of 500 ms a lonely command takes a second longer.
SOURCE = {"kafka.fetch.max.wait.ms": "10"}


class Application:
    """Broker (unless one is given), topics, decider and projections on one data directory.

    Use it as a context manager: inside, everything takes commands; on leaving, it is stopped
    cleanly, whatever happened.

    Args:
        settings: All that can be chosen.
        on_step: Called at each step of publishing a batch.
    """

    def __init__(self, settings: Settings, on_step: OnStep = unobserved) -> None:
        self.settings = settings
        self._on_step = on_step
        self._parts = ExitStack()

    def __enter__(self) -> "Application":
        """Start everything.

        Raises:
            VerdictError: Something is missing, in use, or does not fit; nothing is left running.
        """
        with ExitStack() as parts:
            self._start(parts)
            self._parts = parts.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._parts.close()

    def run_until(self, stopped: threading.Event) -> None:
        """Return when `stopped` is set.

        Raises:
            VerdictError: The decider stopped, and a person can act on it.
        """
        while not stopped.wait(CHECK_S):
            self.check()

    def check(self) -> None:
        """Return while commands are decided; look after the projections.

        Raises:
            VerdictError: The decider stopped, and a person can act on it.
        """
        self._deciding.check()
        self._read_side.check()

    def _start(self, parts: ExitStack) -> None:
        settings = self.settings
        lock = parts.enter_context(DataDirectoryLock(settings.data_dir))
        withdraw(settings.data_dir)  # that of a process that was killed
        with ThreadPoolExecutor(1) as beside:  # two JVMs start in the time of one
            broker = beside.submit(self._broker, parts)
            spark = self._spark(lock)
            parts.callback(spark.stop)
            servers = broker.result()
        kafka = Kafka(
            settings=librdkafka_options(settings) | {"bootstrap.servers": servers},
            transaction_timeout_s=settings.transaction_timeout_s,
        )
        self._ensure_topics(kafka)
        source = spark_options(settings) | SOURCE | {"kafka.bootstrap.servers": servers}
        self._deciding = Deciding(spark, kafka, source, settings, self._on_step)
        parts.callback(self._deciding.stop)
        self._deciding.start()
        self._read_side = ReadSide(lambda: self._project(spark, source))
        parts.callback(self._read_side.stop)
        self.service = self._announce(parts, servers)

    def _ensure_topics(self, kafka: Kafka) -> None:
        """Create what is missing, then check everything against settings and marker."""
        topics = self.settings.topics
        admin = TopicAdmin(kafka.settings, topics)
        admin.create_missing()
        marker = read_marker(kafka, decider_query(topics, self.settings.shards), wait=False).marker
        admin.ensure(None if marker is None else marker.offsets)

    def _announce(self, parts: ExitStack, servers: str) -> Service:
        folder = self.settings.data_dir
        service = Service(os.getpid(), servers, database_url(self.settings))
        announce(folder, service)
        parts.callback(withdraw, folder)
        return service

    def _project(self, spark: SparkSession, source: Mapping[str, str]) -> Projecting:
        settings = self.settings
        read_models = projections(settings.us_exchanges)
        database = open_database(database_url(settings))
        create_read_side(database, read_models)
        size = {"maxOffsetsPerTrigger": str(settings.max_rows_per_batch)}
        projecting = Projecting(spark, {**source, **size}, database, settings.topics, read_models)
        projecting.start(settings.data_dir / SPARK, settings.trigger_ms)
        return projecting

    def _broker(self, parts: ExitStack) -> str:
        if self.settings.bootstrap_servers is not None:
            return self.settings.bootstrap_servers
        broker = EmbeddedBroker(self.settings.data_dir / "broker")
        parts.enter_context(broker)
        return broker.bootstrap_servers

    def _spark(self, lock: DataDirectoryLock) -> SparkSession:
        settings = self.settings
        cores = settings.cores or os.cpu_count() or 1
        return spark_session(
            f"verdict {settings.deployment}",
            cores,
            settings.shards,
            settings.driver_memory,
            settings.data_dir / SPARK,
            keep_open=[lock.fileno()],  # the JVM writes there too, and may outlive us
        )
