"""The roles of a process, started in order and stopped in reverse."""

import os
import threading
import time
from contextlib import ExitStack
from functools import partial

from pyspark.sql import SparkSession

from verdict.configuration.found import Service, database_url, withdraw
from verdict.configuration.settings import Settings
from verdict.decider.coverage import refuse_gone
from verdict.decider.latency import Latencies
from verdict.decider.recovery.progress import Tell
from verdict.errors import VerdictError
from verdict.exactly_once.steps import OnStep, unobserved
from verdict.foundation.foundation import (
    SPARK,
    Foundation,
    WithoutSpark,
    lay_foundation,
    lay_without_spark,
)
from verdict.foundation.log_watch import LogWatch
from verdict.foundation.place import DECIDER
from verdict.foundation.transaction_watch import TransactionWatch
from verdict.kafka.reach import Reach
from verdict.projection.database import check_server
from verdict.service.dying import jvm_ended
from verdict.service.parts import Part, Stage
from verdict.service.read_side import check_tables
from verdict.service.roles import Crew, everybody
from verdict.service.vitals import Vitals
from verdict.spark.heap import Heap
from verdict.spark.probe import Executors
from verdict.spark.session import LOG, jvm_exit_code
from verdict.spark.under_way import quiet_s

CHECK_S = 1.0
DEATH_S = 2.0  # until a process that is being ended is known to have ended
LOOK_S = 0.05


class Running:
    """A process of a deployment: what its roles stand on, and they themselves.

    Use it as a context manager: inside, they do what they are there for; on leaving, they are
    stopped cleanly, whatever happened.

    Args:
        settings: All that can be chosen.
        on_step: Called at each step of publishing what was decided.
        tell: Called with what a person who waits for the start may want to know.
        crew: The roles; unset: all, in this one process.
        page_url: Of the page that is served beside it, for those who look for the service.
    """

    def __init__(
        self,
        settings: Settings,
        on_step: OnStep = unobserved,
        tell: Tell = unobserved,
        crew: Crew | None = None,
        page_url: str | None = None,
    ) -> None:
        self.settings = settings
        self._on_step = on_step
        self._tell = tell
        self._crew = crew or everybody(settings)
        self._page_url = page_url
        self._latencies = Latencies()
        self._held = ExitStack()
        self._parts: list[Part] = []
        self._vitals: Vitals | None = None
        self._log_watch: LogWatch | None = None
        self._transaction_watch: TransactionWatch | None = None
        self._spark: SparkSession | None = None
        self._executors: Executors | None = None
        self._heap: Heap | None = None

    def __enter__(self) -> "Running":
        """Start everything.

        Raises:
            VerdictError: Something is missing, in use, or does not fit; nothing is left running.
        """
        with ExitStack() as held:
            try:
                self._start(held)
            except VerdictError:
                raise
            except Exception:
                self._check_jvm(DEATH_S)
                raise
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

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
        """Spark's session; only inside, and if a role needs it."""
        assert self._spark is not None
        return self._spark

    def run_until(self, stopped: threading.Event) -> None:
        """Return when `stopped` is set.

        Raises:
            VerdictError: A part stopped without which this process has no sense, and a person
                can act on it.
        """
        while not stopped.wait(CHECK_S):
            self.check()

    def check(self) -> None:
        """Return while all is well enough to go on; look after what passes.

        Raises:
            AnotherLog: A topic was deleted, whether created anew or not.
            VerdictError: The decider, Spark's JVM, the embedded broker or the only role stopped,
                and a person can act on it.
        """
        self._check_jvm()
        failure: Exception | None = None
        try:
            self._check_all()
        except Exception as error:
            failure = error
        if failure is None:
            return
        if not isinstance(failure, VerdictError):
            self._check_jvm(DEATH_S)  # whatever is asked of one that is dying fails, in pages
        if self._log_watch is not None:
            self._log_watch.look()  # a topic that is gone is behind many a failure
        raise failure

    def _check_jvm(self, patience_s: float = 0) -> None:
        if self._spark is None:
            return
        deadline = time.monotonic() + patience_s
        while (code := jvm_exit_code(self._spark)) is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        if code is not None:
            log = self._crew.place.home / SPARK / LOG
            raise jvm_ended(code, self.settings, self._laid.kafka, log) from None

    def _check_all(self) -> None:
        for part in self._parts:
            part.check()
        if self._executors is not None:
            self._executors.check()
        if self._reach.there and self._log_watch and self._transaction_watch:
            self._transaction_watch.check()
            self._log_watch.check()  # where Kafka is away, whatever is tried again would only wait
        if self._heap is not None:
            self._heap.look(quiet_s())
        if self._vitals is not None:
            self._vitals.tell(self._reach.away_since, self._stopped())

    def _stopped(self) -> dict[str, str]:
        """Return what is stopped, and why; the decider only waits for Kafka, or workers."""
        parts = {name: why for part in self._parts for name, why in part.stopped.items()}
        return self._without_executors() | parts

    def _without_executors(self) -> dict[str, str]:
        if self._executors is None or self._executors.missing is None:
            return {}
        return {role.name: self._executors.missing for role in self._crew.roles if role.spark}

    def _start(self, held: ExitStack) -> None:
        settings, crew = self.settings, self._crew
        database = database_url(settings) if crew.database else None
        if database is not None:
            check_server(database)
        laid = self._laid = self._lay(held)
        kafka, topics = laid.kafka, settings.topics
        if DECIDER in crew.names and isinstance(laid, Foundation) and laid.marker is not None:
            refuse_gone(laid.marker, topics)  # before views are made of what it knows
        if crew.spark or crew.database:  # else it only serves Kafka to who mends topics, too
            self._log_watch = LogWatch(kafka, topics.of_the_log())
            watch = TransactionWatch(kafka, [topic.name for topic in topics.all()])
            held.callback(watch.close)
            self._transaction_watch = watch
        if database is not None:  # before anything is decided beside tables of another log
            check_tables(kafka, settings)
        self._reach = Reach(kafka, topics.markers)
        held.callback(self._reach.stop)
        self._reach.start()
        self._start_parts(held)
        service = Service(
            os.getpid(), laid.servers, database, self._page_url, roles=crew.names,
            deployment=settings.deployment,
        )  # fmt: skip
        limit_s, latencies = settings.batch_limit_s, self._latencies
        self._vitals = Vitals(crew.place.home, service, limit_s, latencies)
        held.callback(withdraw, crew.place.home)

    def _lay(self, held: ExitStack) -> Foundation | WithoutSpark:
        if not self._crew.spark:
            return lay_without_spark(self.settings, held, self._crew.place)
        ground = lay_foundation(self.settings, held, self._crew.place)
        self._spark, self._executors = ground.spark, ground.executors
        self._heap = Heap(ground.spark)
        return ground

    def _start_parts(self, held: ExitStack) -> None:
        """Start them in order; return when all may be relied on."""
        stage = Stage(
            settings=self.settings,
            laid=self._laid,
            reach=self._reach,
            alone=self._crew.alone,
            chosen=self._crew.chosen,
            on_step=self._on_step,
            tell=self._tell,
            check_jvm=partial(self._check_jvm, DEATH_S),
            latencies=self._latencies,
        )
        for role in self._crew.roles:
            part = role.part(stage)
            held.callback(part.stop)
            part.start()
            self._parts.append(part)
        for part in reversed(self._parts):  # the last to start has looked after the others
            part.await_ready(self.check)
