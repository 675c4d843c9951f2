"""What a process sets up before its components start: locked folders, Kafka, topics, Spark."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from pyspark.sql import SparkSession

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import DifferentLogError
from verdict.adapters.kafka.topic_drift import TopicSettingsError
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local import permissions
from verdict.adapters.local.broker import FLUSHED, EmbeddedBroker
from verdict.adapters.local.jars import s3_jars
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.adapters.spark.probe import await_fitting_executors, require_spark_access
from verdict.adapters.spark.session import jvm_exit_code, spark_session
from verdict.adapters.storage.folders import durable_dir
from verdict.service.topics import ensure_topics
from verdict.settings.checks import (
    check_batch_size,
    cluster_options,
    require_reachable_kafka,
    transaction_timeout_s,
)
from verdict.settings.discovery import home_of, running_kafka, withdraw
from verdict.settings.kafka import java_options, librdkafka_options, spark_options
from verdict.settings.load import InvalidSettingsError
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import DECIDER
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.schemas.write import require_written_schemas

LOG = logging.getLogger("verdict.service")
SPARK = "spark"
BROKER = "broker"
WORKERS = {
    "spark.python.daemon.module": "verdict.service.worker_daemon",
    # else queries without state get a daemon of their own, as their workers' environment differs
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class WorkingDirectory:
    """What a process has for itself.

    `home` takes its announcement and Spark's files. `locked` are the folders that no other process
    may use, and what each is. `role` is set if the process has one role only.
    """

    home: Path
    locked: Mapping[Path, str]
    role: str = ""


def require_whole_directory(data_dir: Path, *roles: tuple[str, ...]) -> WorkingDirectory:
    """Return the directories of a process that has a data directory to itself."""
    return WorkingDirectory(
        data_dir, {data_dir: "data directory"} | _homes(data_dir, roles or ((DECIDER,),))
    )


def directory_of(data_dir: Path, *roles: tuple[str, ...]) -> WorkingDirectory:
    """Return the directories of roles that run by themselves; the first one's is their home."""
    locked = _homes(data_dir, roles)
    return WorkingDirectory(next(iter(locked)), locked, roles[0][0])


def _homes(data_dir: Path, roles: tuple[tuple[str, ...], ...]) -> dict[Path, str]:
    return {home_of(data_dir, *role): f"the folder of role {' '.join(role)}" for role in roles}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime(StreamContext):
    """Kafka and Spark, running; `progress` is the decider's, if it could be read at once."""

    servers: str
    broker: EmbeddedBroker | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRuntime:
    """Kafka, running, for roles without Spark."""

    kafka: KafkaConfig
    servers: str
    broker: EmbeddedBroker | None


def start_runtime(
    settings: Settings,
    parts: ExitStack,
    place: WorkingDirectory | None = None,
    fix: Callable[[Settings, KafkaConfig], None] = lambda *_: None,
    check: Callable[[KafkaConfig, ProgressRecord | None], None] = lambda *_: None,
) -> Runtime:
    """Lock the directories, start Spark and, unless there is one, Kafka; check the topics.

    `fix` is called before the topics are checked, `check` after that; Spark starts meanwhile.
    """
    place = place or require_whole_directory(settings.data_dir)
    locks = _locked(settings, parts, place)
    check_batch_size(settings)
    _require_kafka_access(settings)
    with ThreadPoolExecutor(1) as jvm:
        starting = jvm.submit(_spark, settings, parts, place, locks)
        servers, broker = _broker(settings, parts, place)
        kafka = _kafka(settings, servers)
        fix(settings, kafka)
        progress = ensure_topics(settings, kafka)
        counts = TopicAdmin(kafka.settings, settings.topics).counts()
        check(kafka, progress)
        spark = starting.result()
    if settings.kafka_security_protocol != "PLAINTEXT" or settings.spark_kafka:
        require_spark_access(spark, java_options(settings) | {"bootstrap.servers": servers})
    if settings.spark_master is not None:
        await_fitting_executors(spark, durable_dir(settings), settings.application)
    return Runtime(
        spark=spark,
        kafka=kafka,
        source=spark_options(settings) | {"kafka.bootstrap.servers": servers},
        partitions=settings.partitions,
        scratch=place.home / SPARK,
        servers=servers,
        progress=progress,
        counts=counts,
        broker=broker,
    )


def start_kafka_runtime(
    settings: Settings, parts: ExitStack, place: WorkingDirectory, *, owned: bool = True
) -> KafkaRuntime:
    """Do what `start_runtime` does, without Spark; skip the topics if they are not `owned`.

    The process with the only broker goes on if topics differ or are gone: they can be repaired
    only while it runs.
    """
    _locked(settings, parts, place)
    _require_kafka_access(settings)
    servers, embedded = _broker(settings, parts, place)
    kafka = _kafka(settings, servers)
    if owned:
        try:
            ensure_topics(settings, kafka)
        except (TopicSettingsError, DifferentLogError) as error:
            if embedded is None:
                raise
            LOG.warning("%s", error)
    return KafkaRuntime(kafka=kafka, servers=servers, broker=embedded)


def _locked(
    settings: Settings, parts: ExitStack, place: WorkingDirectory
) -> list[DataDirectoryLock]:
    """Lock the directories, once it is sure that this application can run."""
    require_written_schemas(settings.application)
    locks = [
        parts.enter_context(DataDirectoryLock(folder, kind))
        for folder, kind in place.locked.items()
    ]
    permissions.close(settings.data_dir)
    for folder in place.locked:
        withdraw(folder)  # that of a process that was killed
    return locks


def _kafka(settings: Settings, servers: str) -> KafkaConfig:
    return KafkaConfig(
        settings=librdkafka_options(settings) | {"bootstrap.servers": servers},
        transaction_timeout_s=transaction_timeout_s(settings),
        outputs=settings.topics.outputs(),
    )


def _require_kafka_access(settings: Settings) -> None:
    """Check that Kafka answers before Spark is started: its client would never give up."""
    require_reachable_kafka(settings)
    if settings.bootstrap_servers is not None:
        servers = {"bootstrap.servers": settings.bootstrap_servers}
        TopicAdmin(librdkafka_options(settings) | servers, settings.topics).reach()
    elif settings.kafka_security_protocol != "PLAINTEXT":
        raise InvalidSettingsError(
            f"kafka_security_protocol is {settings.kafka_security_protocol} and bootstrap_servers "
            "is not set: the embedded broker is for this machine and knows PLAINTEXT only; name "
            "your Kafka, or unset the kafka_ settings"
        )


def _broker(
    settings: Settings, parts: ExitStack, place: WorkingDirectory
) -> tuple[str, EmbeddedBroker | None]:
    """Return where Kafka is; start the embedded broker if no other one is known."""
    if settings.bootstrap_servers is not None:
        return settings.bootstrap_servers, None
    # others wait for our broker, and may still name where it was
    if place.role != BROKER and (servers := running_kafka(settings.data_dir)) is not None:
        return servers, None
    properties = FLUSHED if settings.broker_flush else {}
    embedded = parts.enter_context(
        EmbeddedBroker(settings.data_dir / "broker", properties=properties)
    )
    return embedded.bootstrap_servers, embedded


def _spark(
    settings: Settings,
    parts: ExitStack,
    place: WorkingDirectory,
    locks: Sequence[DataDirectoryLock],
) -> SparkSession:
    of_store: dict[str, str] = {}
    if settings.in_object_store:
        from verdict.adapters.storage.object_store import hadoop_options  # an optional package

        of_store = hadoop_options(os.environ)
    spark = spark_session(
        " ".join(filter(None, ("verdict", settings.deployment, place.role))),
        settings.cores or os.cpu_count() or 1,
        settings.shards,
        settings.driver_memory,
        place.home / SPARK,
        extra=WORKERS | of_store | cluster_options(settings),
        more_jars=s3_jars() if of_store else (),
        master=settings.spark_master,
        keep_open=[lock.fileno() for lock in locks],  # the JVM writes there too, may outlive us
    )
    parts.callback(lambda: None if jvm_exit_code(spark) is not None else spark.stop())
    if settings.spark_master is None:
        Thread(target=_start_daemon, args=(spark,), name="worker daemon", daemon=True).start()
    return spark


def _start_daemon(spark: SparkSession) -> None:
    """Let the daemon of the Python workers import all it needs before the first batch does."""
    try:
        spark.sparkContext.parallelize([0], 1).count()
    except Exception as error:  # the first batch fails, too, and is reported
        LOG.debug("the Python workers' daemon could not be started early: %s", error)
