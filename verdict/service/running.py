"""Everything that runs, started in order and stopped in reverse."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from types import TracebackType

from pyspark.sql import SparkSession
from sqlalchemy import Engine

from verdict.application import current
from verdict.configuration.found import Service, database_url, withdraw
from verdict.configuration.settings import Settings
from verdict.decider.recovery.progress import Tell, untold
from verdict.decider.recovery.recovering import recover_outdated
from verdict.decider.running import Deciding
from verdict.errors import VerdictError
from verdict.event_log.decisions import copied_decisions
from verdict.event_log.followed_log import follow_this_log
from verdict.exactly_once.steps import OnStep, unobserved
from verdict.foundation.foundation import Foundation, lay_foundation
from verdict.foundation.log_watch import LogWatch
from verdict.kafka.log import log_bounds
from verdict.kafka.reach import Reach
from verdict.lake.running import lake
from verdict.letters.retrying import Retrying
from verdict.processing.kept_going import KeptGoing
from verdict.projection.database import (
    check_built,
    check_server,
    create_read_side,
    live_versions,
    open_database,
)
from verdict.projection.declared import projections
from verdict.projection.projection import Projection
from verdict.reactions.running import reacting
from verdict.read_models.batches.source import KafkaBatches
from verdict.read_models.running import Opened, Projecting
from verdict.service.dying import jvm_ended
from verdict.service.vitals import Vitals
from verdict.spark.session import jvm_exit_code
from verdict.spark.source import Ground

CHECK_S = 0.2
DEATH_S = 2.0  # until a process that is being ended is known to have ended
LOOK_S = 0.05


class Running:
    """Broker (unless one is given), topics, decider, reactions, lake, projections, letters.

    Use it as a context manager: inside, everything takes commands; on leaving, it is stopped
    cleanly, whatever happened.

    Args:
        settings: All that can be chosen.
        on_step: Called at each step of publishing a batch.
        tell: Called with what a person who waits for the start may want to know.
        page_url: Of the page that is served beside it, for those who look for the service.
    """

    def __init__(
        self,
        settings: Settings,
        on_step: OnStep = unobserved,
        tell: Tell = untold,
        page_url: str | None = None,
    ) -> None:
        self.settings = settings
        self._on_step = on_step
        self._tell = tell
        self._page_url = page_url
        self._parts = ExitStack()
        self._vitals: Vitals | None = None
        self._spark: SparkSession | None = None

    def __enter__(self) -> "Running":
        """Start everything.

        Raises:
            VerdictError: Something is missing, in use, or does not fit; nothing is left running.
        """
        with ExitStack() as parts:
            try:
                self._start(parts)
            except VerdictError:
                raise
            except Exception:
                self._check_jvm(DEATH_S)
                raise
            self._parts = parts.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._parts.close()

    @property
    def service(self) -> Service:
        """Where it is found; only inside."""
        assert self._vitals is not None
        return self._vitals.service

    @property
    def kafka_is_there(self) -> bool:
        """Whether Kafka has answered last; only inside."""
        return self._reach.there

    @property
    def spark(self) -> SparkSession:
        """Spark's session; only inside."""
        assert self._spark is not None
        return self._spark

    def run_until(self, stopped: threading.Event) -> None:
        """Return when `stopped` is set.

        Raises:
            VerdictError: The decider stopped, and a person can act on it.
        """
        while not stopped.wait(CHECK_S):
            self.check()

    def check(self) -> None:
        """Return while commands are decided; look after what runs beside that.

        Raises:
            AnotherLog: A topic was deleted, whether created anew or not.
            VerdictError: The decider, Spark's JVM or the embedded broker stopped, and a person can
                act on it.
        """
        if self._broker is not None:
            self._broker.check()
        self._check_jvm()
        failure: Exception | None = None
        try:
            self._check_parts()
        except Exception as error:
            failure = error
        if failure is None:
            return
        if not isinstance(failure, VerdictError):
            self._check_jvm(DEATH_S)  # whatever is asked of one that is dying fails, in pages
        self._log_watch.look()  # a topic that is gone is behind many a failure
        raise failure

    def _check_jvm(self, patience_s: float = 0) -> None:
        if self._spark is None:
            return
        deadline = time.monotonic() + patience_s
        while (code := jvm_exit_code(self._spark)) is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        if code is not None:
            raise jvm_ended(code, self.settings, self._kafka) from None

    def _check_parts(self) -> None:
        self._deciding.check()
        if self._reach.there:  # else whatever is tried again would only wait
            self._log_watch.check()
            for one in self._beside:
                one.check()
        if self._vitals is not None:
            self._vitals.tell(self._reach.away_since, self._stopped())

    def _start(self, parts: ExitStack) -> None:
        settings = self.settings
        check_server(database_url(settings))
        ground = lay_foundation(settings, parts)
        self._spark = ground.spark
        self._broker, self._kafka = ground.broker, ground.kafka
        self._log_watch = LogWatch(ground.kafka, settings.topics.of_the_log())
        check_tables(ground, settings)  # before anything is decided beside tables of another log
        recover_outdated(ground, settings, self._tell)
        rehearsal = self._decide(ground, parts)
        self._beside = processors(ground, settings)
        for processor in self._beside:
            parts.callback(processor.stop)
            processor.start()
        projecting = project(ground, settings)
        parts.callback(projecting.stop)
        projecting.start()  # who cannot even begin does not run
        self._beside.append(KeptGoing("projections", projecting, over=projecting.note_end))
        retrying = retry(ground, settings)
        parts.callback(retrying.stop)
        retrying.start()
        retrying.await_ready(self.check)
        rehearsal.result()  # who is told `ready` may rely on workers that connect
        self._retrying = retrying
        service = Service(os.getpid(), ground.servers, database_url(settings), self._page_url)
        self._vitals = Vitals(settings.data_dir, service, settings.batch_limit_s)
        parts.callback(withdraw, settings.data_dir)

    def _stopped(self) -> dict[str, str]:
        """Return what is stopped, and why; the decider only waits for Kafka, or a worker."""
        beside = {one.name: one.stopped for one in self._beside if one.stopped is not None}
        return self._deciding.stopped | beside | self._retrying.stopped

    def _decide(self, ground: Foundation, parts: ExitStack) -> Future[None]:
        """Begin to decide; return what is done when the operator is known to work."""
        self._reach = Reach(ground.kafka, self.settings.topics.markers)
        parts.callback(self._reach.stop)
        self._reach.start()
        self._deciding = Deciding(ground, self.settings, self._on_step, lambda: self._reach.there)
        parts.callback(self._deciding.stop)
        self._deciding.start()
        return parts.enter_context(ThreadPoolExecutor(1)).submit(self._deciding.rehearse)


def processors(ground: Ground, settings: Settings) -> list[KeptGoing]:
    """Return what runs beside the decider, not started: a lake only if the application has one."""
    found = [KeptGoing("reactions", reacting(ground, settings))]
    if (table := current().lake) is not None:
        found.append(KeptGoing("lake", lake(ground, settings, table)))
    return found


def retry(ground: Ground, settings: Settings) -> Retrying:
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
        allowed=settings.retry_topics,
        poll_s=settings.retry_poll_ms / 1000,
    )


def check_tables(ground: Ground, settings: Settings) -> None:
    """Return when the read side's tables fit log and settings; those that were missing are there.

    Raises:
        AnotherLog: They were filled from other topics.
        VerdictError: All that depend on a setting were built with another one, or the database
            does not fit, or is out of reach.
    """
    database, read_models = made_read_side(ground, settings)
    try:
        check_built(database, read_models)
    finally:
        database.dispose()


def made_read_side(ground: Ground, settings: Settings) -> tuple[Engine, Sequence[Projection]]:
    """Return the database, and the projections at the versions that readers see.

    Tables and views that were missing are there.

    Raises:
        AnotherLog: The database was filled from other topics.
        VerdictError: The database does not fit, or is out of reach.
    """
    database = open_database(database_url(settings))
    try:
        read_models = projections(settings.chosen, live_versions(database))
        create_read_side(database, read_models, settings.roles)
        follow_this_log(database, ground.kafka, settings.topics.of_the_log())
    except BaseException:
        database.dispose()
        raise
    return database, read_models


def project(ground: Ground, settings: Settings) -> Projecting:
    """Return the projections, not started: each start is at the versions that readers see."""
    options = {name: str(value) for name, value in ground.kafka.settings.items()}

    def opened() -> Opened:
        database, read_models = made_read_side(ground, settings)
        batches = KafkaBatches(
            ground.spark,
            {**ground.source, "maxOffsetsPerTrigger": str(settings.max_rows_per_batch)},
            settings.topics,
            passed_over=copied_decisions(options, settings.topics, database),
        )
        return Opened(database=database, projections=read_models, batches=batches)

    bounds = partial(log_bounds, options)
    return Projecting(ground, opened, bounds, settings.topics, settings.projection_trigger_ms)
