"""What `verdict projection` does, beside a service that runs or not."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from sqlalchemy import Engine

from verdict.configuration.found import database_url
from verdict.configuration.kafka import spark_options
from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.event_log.decisions import honouring
from verdict.event_log.followed_log import refuse_another_read_side
from verdict.event_log.opened import event_log
from verdict.exactly_once.steps import unobserved
from verdict.foundation.foundation import SPARK
from verdict.kafka.access import kafka_of
from verdict.kafka.log import KafkaLog
from verdict.local.lock import DataDirectoryLock
from verdict.projection.database import failing_in_words, opened
from verdict.projection.declared import FIRST, AtVersion
from verdict.projection.position import AnotherRunner, Positions
from verdict.read_models.batches.source import KafkaBatches
from verdict.read_models.declared_projection import declared_projection
from verdict.read_models.versions import beside, swapping
from verdict.read_models.versions.beside import Beside
from verdict.read_models.versions.building import Building
from verdict.read_models.versions.errors import Differs
from verdict.read_models.versions.folds import Fold, Here, OnExecutors, few
from verdict.read_models.versions.level import Level
from verdict.read_models.versions.steps import OnStep, Tell
from verdict.read_models.versions.swapping import Verified
from verdict.read_models.versions.whole_log import WholeLog, ends_of
from verdict.spark.session import spark_session


class Rebuilder:
    """Builds the next version of a projection, compares it, and puts it in place.

    Args:
        settings: Those of the service.
        name: Of the projection.
        tell: Told what goes on, for a person who waits.
        on_step: Called at each step; tests kill the process there.

    Raises:
        VerdictError: There is no such projection.
        Unreachable: Kafka or the database is out of reach.
    """

    def __init__(
        self,
        settings: Settings,
        name: str,
        tell: Tell = unobserved,
        on_step: OnStep = unobserved,
    ) -> None:
        self._settings = settings
        self._name = name
        self._at_version = _buildable(settings, name)
        self._kafka = kafka_of(settings)
        self._tell = tell
        self._on_step = on_step

    def rebuild(self) -> Beside:
        """Build the next version from the whole log, beside the one that readers see.

        Raises:
            Gone: Neither Kafka nor the archive has all of it any more.
            Stopped: The projection failed.
            AnotherBuild: Somebody else has begun the version anew.
        """
        with self._alone() as lock, self._database() as engine, ExitStack() as parts:
            made = beside.begin_another(engine, self._name, self._at_version)
            topics = self._settings.topics
            log = parts.enter_context(honouring(self._kafka.settings, topics))
            ends = ends_of(made.other, log, topics)
            fold = self._fold(parts, lock, log, ends)
            Building(fold, engine, self._tell, self._on_step).build(made.other, ends)
            return made

    def verify(self) -> Verified:
        """Compare the version that was built with the one that readers see.

        Raises:
            NotBuilt: There is none.
            Stopped: It cannot be brought to the live one's position.
            Gone: Neither Kafka nor the archive has what it needs to come there.
            NeverLevel: The live version is behind, and does not move.
            NotComparable: It is behind, and stopped.
        """
        with self._level(beside.built) as level:
            return swapping.verify(level)

    def swap(self, accept_differences: bool = False) -> Beside:
        """Let readers see the version that was built, if it holds the same.

        Args:
            accept_differences: Do not compare: whatever it holds.

        Raises:
            Differs: It does not; readers see what they saw.
            ViewsInUse: A view of somebody else's stands on one of the projection's.
            StillRead: Somebody reads from one, and does not come to an end.
            NotBuilt, Stopped, Gone, NeverLevel, NotComparable: As `verify`.
        """
        with self._level(beside.built) as level:
            if not accept_differences:
                _check_equal(swapping.verify(level))
            swapping.swap(level, self._settings.roles, self._on_step)
            return level.beside

    def rollback(self) -> Beside:
        """Let readers see the version again that they saw before, brought up to date.

        Raises:
            VerdictError: None is kept.
            ViewsInUse, StillRead, Stopped, Gone, NeverLevel: As `swap`.
        """
        with self._level(beside.before) as level:
            swapping.swap(level, self._settings.roles, self._on_step)
            return level.beside

    @contextmanager
    def _level(self, choose: Callable[[Engine, str, AtVersion], Beside]) -> Iterator[Level]:
        with self._alone(), self._database() as engine, ExitStack() as parts:
            chosen = choose(engine, self._name, self._at_version)
            log = event_log(self._settings, parts)
            yield Level(engine, log, self._settings.topics, chosen)

    @contextmanager
    def _database(self) -> Iterator[Engine]:
        try:
            with opened(database_url(self._settings)) as engine, failing_in_words(engine):
                refuse_another_read_side(self._settings, self._kafka)
                yield engine
        except AnotherRunner as error:
            raise VerdictError(f"{error}; then try again") from error

    def _fold(
        self, parts: ExitStack, lock: DataDirectoryLock, log: KafkaLog, ends: Positions
    ) -> Fold:
        """Return what folds everything before `ends`: without Spark, as long as it is few."""
        topics = self._settings.topics
        events = event_log(self._settings, parts, log)
        if (records := few(events, ends)) is not None:
            return Here(records, topics)
        spark = parts.enter_context(self._spark(lock))
        servers = {"kafka.bootstrap.servers": str(self._kafka.settings["bootstrap.servers"])}
        kafka = spark_options(self._settings) | servers
        batches = KafkaBatches(spark, kafka, topics, passed_over=log.passed_over)
        whole = WholeLog(spark, batches, events, topics)
        return OnExecutors(whole, self._folder / "scratch", self._cores)

    @property
    def _cores(self) -> int:
        return self._settings.cores or os.cpu_count() or 1

    @property
    def _folder(self) -> Path:
        return self._settings.data_dir / f"rebuild-{self._name}"

    def _alone(self) -> DataDirectoryLock:
        """Let nobody else with this data directory build, compare or swap this projection."""
        return DataDirectoryLock(self._folder, f"the workspace of projection {self._name}")

    @contextmanager
    def _spark(self, lock: DataDirectoryLock) -> Iterator[SparkSession]:
        """Give a session of our own; `lock` is held by what of it outlives us, too."""
        folder = self._folder / SPARK
        self._tell("starting Spark")
        memory = self._settings.driver_memory
        title = f"verdict projection rebuild {self._name}"
        spark = spark_session(
            title, self._cores, self._cores, memory, folder, keep_open=[lock.fileno()]
        )
        try:
            yield spark
        finally:
            spark.stop()


def _buildable(settings: Settings, name: str) -> AtVersion:
    at_version = declared_projection(settings, name)
    if not at_version(FIRST).tables:
        raise VerdictError(
            f"{name} holds what came in the order in which it came: there is nothing to build it "
            "from again, and nothing to compare it with"
        )
    return at_version


def _check_equal(verified: Verified) -> None:
    """Return when both versions hold the same.

    Raises:
        Differs: They do not.
    """
    unequal = [table for table in verified.tables if not table.equal]
    if not unequal:
        return
    first = next(row for table in unequal for row in table.differing)
    key = ", ".join(map(str, first.key))
    said = f"{key} ({first.live or 'nothing'} live, {first.built or 'nothing'} built)"
    raise Differs(verified.projection, sum(len(table.differing) for table in unequal), said)
