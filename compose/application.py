"""Everything that runs, started in order and stopped in reverse."""

import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType

from sqlalchemy import Engine

from compose.configuration.settings import Settings
from compose.deciding import Deciding
from compose.errors import VerdictError
from compose.exactly_once.steps import OnStep, unobserved
from compose.foundation import SPARK, Foundation, lay_foundation
from compose.kafka.batches import KafkaBatches
from compose.kafka.config import librdkafka_options
from compose.kafka.log import log_bounds
from compose.lake.query import Lake
from compose.letters.retrying import Retrying
from compose.local.spark import jvm_exit_code
from compose.processing.processor import Ground
from compose.projecting import Projecting
from compose.reacting.query import reacting
from compose.read_side import ReadSide
from compose.recovery.progress import Tell, untold
from compose.recovery.recovering import recover_outdated
from compose.service import Service, announce, database_url, withdraw
from compose.sql.database import (
    check_built,
    check_server,
    create_read_side,
    live_versions,
    open_database,
)
from projections.engine.projection import Projection
from projections.registry import projections

CHECK_S = 0.2


class Application:
    """Broker (unless one is given), topics, decider, reactions, lake, projections, letters.

    Use it as a context manager: inside, everything takes commands; on leaving, it is stopped
    cleanly, whatever happened.

    Args:
        settings: All that can be chosen.
        on_step: Called at each step of publishing a batch.
        tell: Called with what a person who waits for the start may want to know.
    """

    def __init__(
        self, settings: Settings, on_step: OnStep = unobserved, tell: Tell = untold
    ) -> None:
        self.settings = settings
        self._on_step = on_step
        self._tell = tell
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
            VerdictError: The decider, Spark's JVM or the embedded broker stopped, and a person can
                act on it.
        """
        if self._broker is not None:
            self._broker.check()
        if (code := jvm_exit_code(self.spark)) is not None:
            log = self.settings.data_dir / SPARK / "spark.log"
            raise VerdictError(
                f"the JVM of Spark ended with {code}: see whether the system ended it for want of "
                f"memory, and the end of {log}, then start again; nothing is lost"
            )
        self._deciding.check()
        for processor in self._processors:
            processor.check()
        self._read_side.check()

    def _start(self, parts: ExitStack) -> None:
        settings = self.settings
        check_server(database_url(settings))
        ground = lay_foundation(settings, parts)
        self.spark = ground.spark
        self._broker = ground.broker
        recover_outdated(ground, settings, self._tell)
        self._deciding = Deciding(
            ground.spark, ground.kafka, ground.source, settings, self._on_step
        )
        parts.callback(self._deciding.stop)
        self._deciding.start()
        beside = processing_ground(ground, settings)
        self._processors = (reacting(beside, settings), Lake(beside, settings))
        for processor in self._processors:
            parts.callback(processor.stop)
            processor.start()
        check_tables(settings)
        self._read_side = ReadSide(partial(project, ground, settings))
        parts.callback(self._read_side.stop)
        retrying = retry(ground, settings)
        parts.callback(retrying.stop)
        retrying.start()
        retrying.await_ready(self.check)
        self.service = self._announce(parts, ground.servers)

    def _announce(self, parts: ExitStack, servers: str) -> Service:
        folder = self.settings.data_dir
        service = Service(os.getpid(), servers, database_url(self.settings))
        announce(folder, service)
        parts.callback(withdraw, folder)
        return service


def processing_ground(ground: Foundation, settings: Settings) -> Ground:
    """Return what processors stand on."""
    return Ground(
        spark=ground.spark,
        kafka=ground.kafka,
        source=ground.source,
        partitions=settings.partitions,
        scratch=settings.data_dir / SPARK,
    )


def retry(ground: Foundation, settings: Settings) -> Retrying:
    """Return what tries dead letters again, not started; the read side has its tables.

    Raises:
        VerdictError: The database does not let us in.
    """
    return Retrying(
        open_database(database_url(settings)),
        ground.kafka,
        settings.topics,
        attempts=settings.retry_attempts,
        backoff=settings.retry_backoff,
        poll_s=settings.retry_poll_ms / 1000,
    )


def check_tables(settings: Settings) -> None:
    """Return when the read side's tables fit the settings; those that were missing are there.

    Raises:
        VerdictError: All that depend on a setting were built with another one, or the database
            does not fit, or is out of reach.
    """
    database, read_models = made_read_side(settings)
    try:
        check_built(database, read_models)
    finally:
        database.dispose()


def made_read_side(settings: Settings) -> tuple[Engine, Sequence[Projection]]:
    """Return the database, and the projections at the versions that readers see.

    Tables and views that were missing are there.

    Raises:
        VerdictError: The database does not fit, or is out of reach.
    """
    database = open_database(database_url(settings))
    try:
        read_models = projections(settings.us_exchanges, live_versions(database))
        create_read_side(database, read_models, settings.reader_role)
    except BaseException:
        database.dispose()
        raise
    return database, read_models


def project(ground: Foundation, settings: Settings) -> Projecting:
    """Start the projections, at the versions that readers see; one that does not fit is parked.

    Args:
        ground: What they stand on.
        settings: Of the service.

    Returns:
        What runs; stop it before the ground is taken away.

    Raises:
        VerdictError: The database does not fit, or is out of reach.
    """
    database, read_models = made_read_side(settings)
    size = {"maxOffsetsPerTrigger": str(settings.max_rows_per_batch)}
    batches = KafkaBatches(ground.spark, {**ground.source, **size}, settings.topics)
    servers = {"bootstrap.servers": ground.servers}
    bounds = partial(log_bounds, librdkafka_options(settings) | servers)
    projecting = Projecting(ground.spark, batches, bounds, database, settings.topics, read_models)
    projecting.start(settings.data_dir / SPARK, settings.projection_trigger_ms)
    return projecting
