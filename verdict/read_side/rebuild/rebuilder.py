"""What `verdict projection` does, beside a service that runs or not."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from sqlalchemy import Engine

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.adapters.spark.session import spark_session
from verdict.errors import VerdictError
from verdict.read_side.catalog import FIRST, AtVersion, projection_by_name
from verdict.read_side.live.source import KafkaBatches
from verdict.read_side.rebuild import promotion, version_pair
from verdict.read_side.rebuild.alignment import AlignedVersions
from verdict.read_side.rebuild.build import ProjectionBuild
from verdict.read_side.rebuild.errors import VersionsDifferError
from verdict.read_side.rebuild.folds import BuildFold, ExecutorFold, LocalFold, is_small
from verdict.read_side.rebuild.promotion import ComparedVersions
from verdict.read_side.rebuild.steps import OnStep, Tell
from verdict.read_side.rebuild.version_pair import VersionPair
from verdict.read_side.rebuild.whole_log import WholeLog, ends_of
from verdict.read_side.schema.database import failing_in_words, opened
from verdict.read_side.tables.position import ConcurrentProjectionError, Positions
from verdict.read_side.tables.same_topics import require_same_read_side
from verdict.settings.discovery import database_url
from verdict.settings.kafka import spark_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.event_log import open_event_log
from verdict.streaming.event_log.skip_log import reader_skipping
from verdict.streaming.exactly_once.failpoints import ignore_step


class Rebuilder:
    """Builds the next version of a projection, compares it, and puts it in place.

    Args:
        settings: Those of the service.
        name: Of the projection.
        tell: Told what goes on, for a person who waits.
        on_step: Called at each step; tests kill the process there.

    Raises:
        VerdictError: There is no such projection.
        UnreachableError: Kafka or the database is out of reach.
    """

    def __init__(
        self,
        settings: Settings,
        name: str,
        tell: Tell = ignore_step,
        on_step: OnStep = ignore_step,
    ) -> None:
        self._settings = settings
        self._name = name
        self._at_version = _buildable(settings, name)
        self._kafka = kafka_of(settings)
        self._tell = tell
        self._on_step = on_step

    def rebuild(self) -> VersionPair:
        """Build the next version from the whole log, beside the one that readers see.

        Raises:
            EventsMissingError: Neither Kafka nor the archive has all of it any more.
            BuildStoppedError: The projection failed.
            ConcurrentBuildError: Somebody else has begun the version anew.
        """
        with self._alone() as lock, self._database() as engine, ExitStack() as parts:
            made = version_pair.create_next(engine, self._name, self._at_version)
            topics = self._settings.topics
            log = parts.enter_context(reader_skipping(self._kafka.settings, topics))
            ends = ends_of(made.other, log, topics)
            fold = self._fold(parts, lock, log, ends)
            ProjectionBuild(fold, engine, self._tell, self._on_step).build(made.other, ends)
            return made

    def verify(self) -> ComparedVersions:
        """Compare the version that was built with the one that readers see.

        Raises:
            NotBuiltError: There is none.
            BuildStoppedError: It cannot be brought to the live one's position.
            EventsMissingError: Neither Kafka nor the archive has what it needs to come there.
            NotAlignedError: The live version is behind, and does not move.
            NotComparableError: It is behind, and stopped.
        """
        with self._level(version_pair.built_version) as level:
            return promotion.compare_versions(level)

    def promote(self, accept_differences: bool = False) -> VersionPair:
        """Let readers see the version that was built, if it holds the same.

        Raises:
            VersionsDifferError: It does not; readers see what they saw.
            ViewsInUseError: A view of somebody else's stands on one of the projection's.
            ViewsReadError: Somebody reads from one, and does not come to an end.
            NotBuiltError, BuildStoppedError, EventsMissingError, NotAlignedError,
                NotComparableError: As `verify`.
        """
        with self._level(version_pair.built_version) as level:
            if not accept_differences:
                _check_equal(promotion.compare_versions(level))
            promotion.promote(level, self._settings.roles, self._on_step)
            return level.beside

    def rollback(self) -> VersionPair:
        """Let readers see the version again that they saw before, brought up to date.

        Raises:
            VerdictError: None is kept.
            ViewsInUseError, ViewsReadError, BuildStoppedError, EventsMissingError,
                NotAlignedError: As `promote`.
        """
        with self._level(version_pair.previous_version) as level:
            promotion.promote(level, self._settings.roles, self._on_step)
            return level.beside

    @contextmanager
    def _level(
        self, choose: Callable[[Engine, str, AtVersion], VersionPair]
    ) -> Iterator[AlignedVersions]:
        with self._alone(), self._database() as engine, ExitStack() as parts:
            chosen = choose(engine, self._name, self._at_version)
            log = open_event_log(self._settings, parts)
            yield AlignedVersions(engine, log, self._settings.topics, chosen)

    @contextmanager
    def _database(self) -> Iterator[Engine]:
        try:
            with opened(database_url(self._settings)) as engine, failing_in_words(engine):
                require_same_read_side(self._settings, self._kafka)
                yield engine
        except ConcurrentProjectionError as error:
            raise VerdictError(f"{error}; then try again") from error

    def _fold(
        self, parts: ExitStack, lock: DataDirectoryLock, log: KafkaLog, ends: Positions
    ) -> BuildFold:
        """Return what folds everything before `ends`: without Spark, as long as it is few."""
        topics = self._settings.topics
        events = open_event_log(self._settings, parts, log)
        if (records := is_small(events, ends)) is not None:
            return LocalFold(records, topics)
        spark = parts.enter_context(self._spark(lock))
        servers = {"kafka.bootstrap.servers": str(self._kafka.settings["bootstrap.servers"])}
        kafka = spark_options(self._settings) | servers
        batches = KafkaBatches(spark, kafka, topics, passed_over=log.passed_over)
        whole = WholeLog(spark, batches, events, topics)
        return ExecutorFold(whole, self._folder / "scratch", self._cores)

    @property
    def _cores(self) -> int:
        return self._settings.cores or os.cpu_count() or 1

    @property
    def _folder(self) -> Path:
        return self._settings.data_dir / f"rebuild-{self._name}"

    def _alone(self) -> DataDirectoryLock:
        """Let nobody else with this data directory build, compare or promote this projection."""
        return DataDirectoryLock(self._folder, f"the workspace of projection {self._name}")

    @contextmanager
    def _spark(self, lock: DataDirectoryLock) -> Iterator[SparkSession]:
        """Give a session of our own; `lock` is held by what of it outlives us, too."""
        folder = self._folder / "spark"
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
    at_version = projection_by_name(settings, name)
    if not at_version(FIRST).tables:
        raise VerdictError(
            f"{name} holds what came in the order in which it came: there is nothing to build it "
            "from again, and nothing to compare it with"
        )
    return at_version


def _check_equal(verified: ComparedVersions) -> None:
    """Return when both versions hold the same.

    Raises:
        VersionsDifferError: They do not.
    """
    unequal = [table for table in verified.tables if not table.equal]
    if not unequal:
        return
    first = next(row for table in unequal for row in table.differing)
    key = ", ".join(map(str, first.key))
    said = f"{key} ({first.live or 'nothing'} live, {first.built or 'nothing'} built)"
    raise VersionsDifferError(
        verified.projection, sum(len(table.differing) for table in unequal), said
    )
