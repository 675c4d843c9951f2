"""`verdict up` as a process of its own, and everything that went into and came out of it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from commands.order import DeleteOrder, ModifyOrder, PlaceOrder
from tests.application import APPLICATION
from tests.comparison import Published, assert_as_the_model_says
from tests.kit.deployment import PAUSE_S, KafkaDeployment, await_true
from tests.model import Model, Record, fold
from tests.traffic import Traffic
from verdict.adapters.kafka.offsets import same_offsets
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.sql.readers.reader import Reader
from verdict.client.client import Client
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable
from verdict.streaming.exactly_once.checkpoint import checkpoint_position
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import SeenRecord, read_progress
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decider_query.generation import Generation, generation_of

ROOT = Path(__file__).parents[2]
VERDICT = str(Path(sys.executable).with_name("verdict"))
WAIT_S = 180  # for one outcome; the service may have just started
SELDOM_S = 0.05  # between two commands of traffic that is not to be a load
PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
POSITIONS = (
    "SELECT topic, partition, min(next_offset) FROM projection_position "
    "JOIN projection_live USING (projection, version) GROUP BY 1, 2"
)

# where a killed process was in its batch
BEFORE = "before the transaction"
INSIDE = "inside the transaction"
AFTER = "after the transaction"

Process = subprocess.Popen[str]


class Deployment(KafkaDeployment):
    """One deployment on a broker that outlives it."""

    def __init__(
        self, bootstrap_servers: str, name: str, data_dir: Path, database_url: str | None = None
    ) -> None:
        super().__init__(bootstrap_servers, Topics(APPLICATION, name, f"{name}-"))
        self.data_dir = data_dir
        self.database_url = database_url or f"sqlite:///{data_dir / 'verdict.db'}"
        TopicAdmin(self.options, self.topics).create_missing()
        self._said_before = 0
        self._traffic, self._sent = Traffic(Random(), aggregates=30), Model()
        self.environment = os.environ | {
            "VERDICT_BOOTSTRAP_SERVERS": bootstrap_servers,
            "VERDICT_DATA_DIR": str(data_dir),
            "VERDICT_DATABASE_URL": self.database_url,
            "VERDICT_DEPLOYMENT": name,
            "VERDICT_TOPIC_PREFIX": self.topics.prefix,
            "VERDICT_PAGE": "false",  # except where it is looked at
        }

    def start(
        self,
        doom: tuple[Failpoint, int] | None = None,
        by: signal.Signals = signal.SIGKILL,
        role: str | None = None,
    ) -> Process:
        """Start the service, doomed or not, or one role of it; it is not ready yet.

        Close it as a context manager.
        """
        command = [VERDICT, "up"] if role is None else [VERDICT, "run", role]
        if doom is not None:
            step, nth = doom
            doomed = [sys.executable, "-m", "tests.kit.doomed", "up"]
            command = [*doomed, step, str(nth), str(self.data_dir), by.name]
        with (self.data_dir.parent / "stderr").open("a") as said:
            self._said_before = said.tell()
            return start_process(command, self.environment, stderr=said)

    def said(self) -> str:
        """Return what the service that was started last has written to stderr."""
        with (self.data_dir.parent / "stderr").open() as everything:
            everything.seek(self._said_before)
            return everything.read()

    @contextmanager
    def running(self) -> Iterator[Process]:
        """Run the service, ready, and stop it cleanly afterwards."""
        with self.start() as service:
            try:
                await_ready(service)
                yield service
                stop(service)
            except AssertionError as error:
                error.add_note(self.said())
                raise
            finally:
                service.kill()

    def cli(
        self, *arguments: str, data: str | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run `verdict` with `arguments` against this deployment."""
        return subprocess.run(
            [VERDICT, *arguments],
            cwd=ROOT,
            env=self.environment | environment,
            input=data,
            capture_output=True,
            text=True,
            timeout=300,  # ends what hangs, not what is slow
        )

    def client(self, **more: Any) -> Client:
        return Client(APPLICATION, self.servers, self.topics, **more)

    def send(
        self,
        command: PlaceOrder | ModifyOrder | DeleteOrder,
        *,
        expected_version: int,
        command_id: str,
    ) -> Response:
        """Send a command to `order-1`, and return its outcome."""
        with self.client() as client:
            pending = client.send(
                "order-1", command, expected_version=expected_version, command_id=command_id
            )
            return pending.wait(WAIT_S)

    def place_all(self, ids: Sequence[str]) -> None:
        with self.client() as client:
            pending = [client.send(at, PLACE, expected_version=0) for at in ids]
            assert {one.wait(WAIT_S).status for one in pending} == {"ACCEPTED"}

    def crash_table_row(self) -> str | None:
        """Return where a killed process was; None when no batch was open."""
        seen = self.seen()
        position = checkpoint_position(generation_of(self.data_dir, seen.progress).checkpoint)
        if not seen.settled:
            return INSIDE
        if position.last is None or position.committed:
            return None
        assert seen.progress is not None
        published = same_offsets(position.last.end, seen.progress.offsets)
        return AFTER if published else BEFORE

    def generation(self) -> Generation:
        return generation_of(self.data_dir, self.seen().progress)

    @contextmanager
    def traffic(
        self, seed: int, pause_s: float = 0.005, skews_ms: Sequence[int] = ()
    ) -> Iterator[None]:
        """Send random commands of every kind until the block ends.

        They continue where the block before has left the aggregates. With `skews_ms` each record
        gets a time that is off by one of them, for a commands topic that takes the sender's time.
        """
        ended, random = threading.Event(), Random(seed)
        self._traffic.random = random
        silent = {"log_level": 0}  # a broker may be away on purpose
        producer = Producer(
            self.options | silent | {"partitioner": "murmur2_random", "linger.ms": 5}
        )

        def send() -> None:
            while not ended.wait(pause_s):
                record = self._traffic.next(self._sent)
                self._sent.take(record)
                topic = self.topics.prefix + record.topic
                at = int(time.time() * 1000) + random.choice(skews_ms) if skews_ms else 0
                producer.produce(topic, key=record.key, value=record.value, timestamp=at)
                producer.poll(0)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            yield
        finally:
            ended.set()
            sender.join()
            assert producer.flush(60) == 0

    def commands(self) -> list[Record]:
        return [
            Record(m.topic(), m.partition(), m.offset(), m.timestamp()[1], m.key(), m.value())
            for m in self._read(self.topics.every_commands())
        ]

    def published(self) -> list[Published]:
        of, kinds = self.topics, APPLICATION.aggregate_types
        topics = [named(kind) for kind in kinds for named in (of.events, of.responses, of.rejected)]
        return [
            Published(m.topic(), m.partition(), m.offset(), m.key(), m.value())
            for m in self._read([*topics, of.dead_letters])
            if self._answers_a_command(m)
        ]

    def await_quiet(self) -> None:
        """Return when every command has its outcome; call it when nothing is sent any more."""
        wanted = len(self.commands())
        self.await_outcomes(wanted)
        assert self.outcomes() == wanted

    def await_outcomes(self, wanted: int) -> None:
        """Return when so many outcomes are published."""
        consumer = Consumer(
            self.options
            | {"group.id": "tests", "enable.auto.commit": False}
            | {"isolation.level": "read_committed"}
        )
        consumer.assign(
            [
                KafkaPartition(topic, number, OFFSET_BEGINNING)
                for topic in self._outcome_topics()
                for number in consumer.list_topics(topic, timeout=30).topics[topic].partitions
            ]
        )
        found = 0

        def are_there() -> bool:
            nonlocal found
            read = consumer.consume(1000, timeout=PAUSE_S)
            found += sum(self._answers_a_command(one) for one in read if one.error() is None)
            return found >= wanted

        await_true(are_there, what=lambda: f"{found} of {wanted} commands have an outcome")
        consumer.close()

    def outcomes(self) -> int:
        return sum(map(self._answers_a_command, self._read(self._outcome_topics())))

    def _outcome_topics(self) -> list[str]:
        return [*map(self.topics.responses, APPLICATION.aggregate_types), self.topics.dead_letters]

    def _answers_a_command(self, message: Message) -> bool:
        """Return False for a dead letter that is not of a command."""
        if message.topic() != self.topics.dead_letters:
            return True
        letter = decode(DeadLetter, message.value() or b"")
        return letter.source.topic in self.topics.every_commands()

    def reaches(self, query: str, wanted: Sequence[object]) -> None:
        """Return when a query for one column gives these values; the service runs."""
        with Reader(self.database_url, readable(projections(APPLICATION))) as reader:

            def rows() -> list[object]:
                return [value for (value,) in reader.select(query).rows]

            await_true(lambda: rows() == [*wanted], what=lambda: f"{query} gives {rows()}")

    def sql(self, query: str, role: str = "reader") -> list[list[Any]]:
        """Return the rows of a query on the read side, as `verdict sql` shows them to a role."""
        done = self.cli("sql", query, "--json", "--as", role)
        assert done.returncode == 0, done.stderr
        return [list(json.loads(line).values()) for line in done.stdout.splitlines()]

    def await_read_side(self) -> None:
        """Return when what readers see of every projection has all that is published now."""
        ends: dict[tuple[str, int], int] = {}
        for one in self.published():
            partition = (one.topic, one.partition)
            ends[partition] = max(ends.get(partition, 0), one.offset + 1)
        with Reader(self.database_url, readable(projections(APPLICATION))) as reader:

            def lags() -> dict[tuple[Any, Any], int]:
                rows: Any = reader.select(POSITIONS).rows
                return {
                    (topic, number): ends[topic, number] - offset
                    for topic, number, offset in rows
                    if offset < ends.get((topic, number), 0)
                }

            await_true(lambda: not lags(), what=lambda: f"the read side lags: {lags()}")

    def await_problem(self, text: str) -> None:

        def status() -> str:
            return self.cli("status", "--json").stdout

        await_true(lambda: text in status(), what=status)

    def assert_as_the_model_says(self) -> None:
        """Hold everything that was published against the model folded over the commands log."""
        expected = fold(self.commands(), topic_prefix=self.topics.prefix)
        assert_as_the_model_says(expected, self.published(), topic_prefix=self.topics.prefix)

    def seen(self) -> SeenRecord:
        """Return the decider's progress record, as far as it can be read without waiting."""
        return read_progress(self.kafka, decider_query(self.topics, 2), wait=False)

    def _read(self, topics: Sequence[str]) -> Iterator[Any]:
        with KafkaLog(self.options, WAIT_S) as log:
            yield from log.read(log.bounds(log.places(topics)))


class Kept:
    """A service that runs whenever a test asks for it, however it has ended before."""

    def __init__(self, start: Callable[[], Process], said: Callable[[], str]) -> None:
        self._start = start
        self._said = said
        self._service: Process | None = None

    def running(self) -> Process:
        """Return the service, which is ready: started again if it has ended."""
        if self._service is None or self._service.poll() is not None:
            self._forget()
            self._service = self._start()
            try:
                await_ready(self._service)
            except AssertionError as error:
                error.add_note(self._said())
                raise
        return self._service

    def end(self) -> None:
        if self._service is not None and self._service.poll() is None:
            stop(self._service)
        self._forget()

    def kill(self) -> None:
        if self._service is not None:
            self._service.kill()
        self._forget()

    def _forget(self) -> None:
        if self._service is not None:
            self._service.communicate()
        self._service = None


@contextmanager
def kept(deployment: Deployment, role: str | None = None) -> Iterator[Kept]:
    """Give a service, or a role of it, that runs when it is asked for; stop it at the end."""
    with kept_process(lambda: deployment.start(role=role), deployment.said) as service:
        yield service


@contextmanager
def kept_process(start: Callable[[], Process], said: Callable[[], str]) -> Iterator[Kept]:
    """Give a service that is started in another way."""
    service = Kept(start, said)
    try:
        yield service
        service.end()
    finally:
        service.kill()


def start_process(command: Sequence[str], environment: Any, **more: Any) -> Process:
    """Start a program in the folder of this checkout, and let a test read its stdout."""
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, **more
    )


def await_ready(service: Process) -> None:
    """Return when the service reports that it takes commands; fail when it ends instead."""
    assert service.stdout is not None
    line = service.stdout.readline()
    assert line.startswith("ready"), f"verdict up ended with {service.wait()}: {line}"


def stop(service: Process, by: signal.Signals = signal.SIGTERM) -> None:
    """Ask the service to end; it must do so cleanly."""
    service.send_signal(by)
    assert service.wait(60) == 0
