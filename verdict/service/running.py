"""One process of a service: it starts the components of its roles, polls them, and stops them."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from pyspark.sql import SparkSession

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.monitor import KafkaMonitor
from verdict.adapters.spark.session import LOG, jvm_exit_code
from verdict.errors import VerdictError
from verdict.read_side.schema.database import open_database
from verdict.service.bootstrap import (
    SPARK,
    KafkaRuntime,
    Runtime,
    start_kafka_runtime,
    start_runtime,
)
from verdict.service.heartbeat import Heartbeat
from verdict.service.jvm_exit import jvm_ended
from verdict.service.read_side import check_tables
from verdict.service.role_set import RoleSet, all_roles
from verdict.service.roles import RoleContext
from verdict.service.supervisor import Supervisor
from verdict.settings.database_address import is_sqlite, parse
from verdict.settings.discovery import AnnouncedService, database_url, withdraw
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import OnStep, ProgressCallback, ignore_step
from verdict.streaming.exactly_once.query import DECIDER
from verdict.wire.progress_record import ProgressRecord
from verdict.write_side.decider_query.known_aggregates import require_known_aggregates
from verdict.write_side.processor.latency import Latencies

CHECK_S = 1.0
DEATH_S = 2.0  # until a process that is being ended is known to have ended
LOOK_S = 0.05


class ServiceProcess:
    """A process of a deployment: Kafka and Spark, and the components of its roles on them.

    Use it as a context manager: inside, the components run; on leaving, they are stopped cleanly,
    whatever happened.
    """

    def __init__(
        self,
        settings: Settings,
        on_step: OnStep = ignore_step,
        tell: ProgressCallback = ignore_step,
        role_set: RoleSet | None = None,
        page_url: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.settings = settings
        self._on_step = on_step
        self._tell = tell
        self._role_set = role_set or all_roles(settings)
        self._page_url = page_url
        self._database = database_url(settings) if self._role_set.database else None
        self._latencies = Latencies()
        self._held = ExitStack()
        self._supervisors: list[Supervisor] = []
        self._heartbeat: Heartbeat | None = None
        self._monitor: KafkaMonitor | None = None
        self._spark: SparkSession | None = None
        self._laid: Runtime | KafkaRuntime

    def __enter__(self) -> "ServiceProcess":
        """Start everything."""
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
    def service(self) -> AnnouncedService:
        """Where it is found; only inside."""
        assert self._heartbeat is not None
        return self._heartbeat.service

    @property
    def kafka_is_there(self) -> bool:
        """Whether Kafka has answered last; only inside."""
        return self._monitor is not None and self._monitor.is_reachable

    def run_until(self, stopped: threading.Event) -> None:
        """Return when `stopped` is set."""
        while not stopped.wait(CHECK_S):
            self.check()

    def check(self) -> None:
        """Poll everything once; return while the process can go on."""
        self._check_jvm()
        try:
            self._check_all()
        except Exception as error:
            if not isinstance(error, VerdictError):
                self._check_jvm(DEATH_S)  # each call to a JVM that is ending fails
            if self._monitor is not None:
                self._monitor.compare()  # many failures follow from a topic that was deleted
            raise

    def _check_jvm(self, patience_s: float = 0) -> None:
        if self._spark is None:
            return
        deadline = time.monotonic() + patience_s
        while (code := jvm_exit_code(self._spark)) is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        if code is not None:
            log = self._role_set.place.home / SPARK / LOG
            raise jvm_ended(code, self.settings, self._laid.kafka, log) from None

    def _check_all(self) -> None:
        if self._laid.broker is not None:
            self._laid.broker.check()
        for supervisor in self._supervisors:
            supervisor.check()
        if self._monitor is not None:
            self._monitor.check()
        if self._monitor is not None and self._heartbeat is not None:
            stopped = {one.name: one.failure for one in self._supervisors if one.failure}
            self._heartbeat.beat(self._monitor.unreachable_since, stopped)

    def _start(self, held: ExitStack) -> None:
        settings, role_set = self.settings, self._role_set
        if self._database is not None and not is_sqlite(parse(self._database)):
            open_database(self._database).dispose()  # a server that is away is named at once
        check = partial(self._check_log, held)
        if role_set.spark:
            runtime = start_runtime(settings, held, role_set.place, check=check)
            self._laid, self._spark = runtime, runtime.spark
        else:
            self._laid = start_kafka_runtime(settings, held, role_set.place)
            check(self._laid.kafka, None)
        self._start_components(held)
        service = AnnouncedService(
            os.getpid(), self._laid.servers, self._database, self._page_url(),
            roles=role_set.names, deployment=settings.deployment,
        )  # fmt: skip
        limit_s, latencies = settings.slow_batch_s, self._latencies
        self._heartbeat = Heartbeat(role_set.place.home, service, limit_s, latencies)
        held.callback(withdraw, role_set.place.home)

    def _check_log(
        self, held: ExitStack, kafka: KafkaConfig, progress: ProgressRecord | None
    ) -> None:
        """Check what needs no Spark, while it starts: the log, and the tables of the read side."""
        self._page_url()  # raises if the page cannot be served
        role_set, topics = self._role_set, self.settings.topics
        if DECIDER in role_set.names and progress is not None:
            # before views are made of what it knows
            require_known_aggregates(progress, topics)
        monitor = self._monitor = KafkaMonitor(kafka, topics.of_the_log())
        if role_set.spark or role_set.database:  # a broker alone must run while topics are repaired
            monitor.remember()
        if self._database is not None:  # before anything is decided next to tables of another log
            check_tables(kafka, self.settings)
        held.callback(monitor.stop)
        monitor.start()

    def _start_components(self, held: ExitStack) -> None:
        """Start them in order; return when others may rely on all of them."""
        context = RoleContext(
            settings=self.settings,
            laid=self._laid,
            held=held,
            supervise=partial(
                Supervisor,
                essential=self._role_set.alone,
                is_kafka_there=lambda: self.kafka_is_there,
                find_cause=partial(self._check_jvm, DEATH_S),
            ),
            chosen=self._role_set.chosen,
            on_step=self._on_step,
            tell=self._tell,
            latencies=self._latencies,
        )
        for role in self._role_set.roles:
            for supervisor in role.components(context):
                held.callback(supervisor.stop)
                supervisor.start()
                self._supervisors.append(supervisor)
        for supervisor in self._supervisors:
            supervisor.await_ready(self.check)
