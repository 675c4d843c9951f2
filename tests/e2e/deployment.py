"""`verdict up` as a process of its own, and everything that went into and came out of it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from tests.application import APPLICATION
from tests.comparison import Published, assert_as_the_model_says
from tests.model import Model, Record, fold
from tests.traffic import Traffic
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import same_offsets
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.sql.readers.reader import Reader
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable
from verdict.streaming.exactly_once.checkpoint import checkpoint_position
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import SeenRecord, read_progress
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode
from verdict.wire.topics import Topics
from verdict.write_side.decider.generation import Generation, generation_of

ROOT = Path(__file__).parents[2]
VERDICT = str(Path(sys.executable).with_name("verdict"))
QUIET_S = 180
ASK_AGAIN_S = 0.2  # the service needs the processor more than who waits for it

# the rows of the design's crash table: where a killed process was in its batch
BEFORE = "before the transaction"
INSIDE = "inside the transaction"
AFTER = "after the transaction"


class Deployment:
    """One deployment on a broker that outlives it.

    Args:
        bootstrap_servers: Of the broker.
        name: Of the deployment; also stands before its topics.
        data_dir: Of the service.
        database_url: Of the read side, else a file in the data directory.
    """

    def __init__(
        self, bootstrap_servers: str, name: str, data_dir: Path, database_url: str | None = None
    ) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.data_dir = data_dir
        self.database_url = database_url or f"sqlite:///{data_dir / 'verdict.db'}"
        self.topics = Topics(APPLICATION, name, f"{name}-")
        self._options = {"bootstrap.servers": bootstrap_servers}
        self._admin = TopicAdmin(self._options, self.topics)
        self._admin.create_missing()
        self._said_before = 0
        self._traffic, self._sent = Traffic(Random(), aggregates=30), Model()
        self.environment = os.environ | {
            "VERDICT_BOOTSTRAP_SERVERS": bootstrap_servers,
            "VERDICT_DATA_DIR": str(data_dir),
            "VERDICT_DATABASE_URL": self.database_url,
            "VERDICT_DEPLOYMENT": name,
            "VERDICT_TOPIC_PREFIX": self.topics.prefix,
            "VERDICT_PAGE": "false",  # but where it is looked at
        }

    def start(
        self,
        doom: tuple[Failpoint, int] | None = None,
        by: signal.Signals = signal.SIGKILL,
        role: str | None = None,
    ) -> "subprocess.Popen[str]":
        """Start the service, doomed or not, or one role of it; it is not ready yet.

        Close it as a context manager.
        """
        command = [VERDICT, "up"] if role is None else [VERDICT, "run", role]
        if doom is not None:
            doomed = [sys.executable, "-m", "tests.e2e.doomed"]
            command = [*doomed, doom[0], str(doom[1]), str(self.data_dir), by.name]
        with (self.data_dir.parent / "stderr").open("a") as said:
            self._said_before = said.tell()
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )

    def said(self) -> str:
        """Return what the service that was started last has said on stderr."""
        with (self.data_dir.parent / "stderr").open() as everything:
            everything.seek(self._said_before)
            return everything.read()

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[str]"]:
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
        """Return the directory of the decider that the progress record names."""
        return generation_of(self.data_dir, self.seen().progress)

    @contextmanager
    def traffic(
        self, seed: int, pause_s: float = 0.005, skews_ms: Sequence[int] = ()
    ) -> Iterator[None]:
        """Send random commands of every kind until the block ends.

        They go on from where such a block has left the aggregates before. With `skews_ms` each
        record is stamped with a time that is off by one of them, for a commands topic that takes
        the sender's time.
        """
        ended, random = threading.Event(), Random(seed)
        self._traffic.random = random
        silent = {"log_level": 0}  # what it says of a broker that is meant to be away
        producer = Producer(
            self._options | silent | {"partitioner": "murmur2_random", "linger.ms": 5}
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
        """Return the whole commands log."""
        return [
            Record(m.topic(), m.partition(), m.offset(), m.timestamp()[1], m.key(), m.value())
            for m in self._read(self.topics.every_commands())
        ]

    def published(self) -> list[Published]:
        """Return everything that a read_committed consumer sees on the output topics."""
        topics = [self.topics.dead_letters]
        for name in APPLICATION.aggregate_types:
            topics += [
                self.topics.events(name),
                self.topics.responses(name),
                self.topics.rejected(name),
            ]
        return [
            Published(m.topic(), m.partition(), m.offset(), m.key(), m.value())
            for m in self._read(topics)
            if self._answers_a_command(m)
        ]

    def await_quiet(self) -> None:
        """Return when every command has its outcome; call it when nothing is sent any more."""
        wanted = len(self.commands())
        self.await_outcomes(wanted)
        assert self.outcomes() == wanted

    def await_outcomes(self, wanted: int) -> None:
        """Return when so many outcomes are published."""
        deadline = time.monotonic() + QUIET_S
        found, (consumer, _) = 0, self._from_the_beginning(self._outcome_topics())
        while found < wanted:
            assert time.monotonic() < deadline, f"{found} of {wanted} commands have an outcome"
            read = consumer.consume(1000, timeout=ASK_AGAIN_S)
            found += sum(self._answers_a_command(one) for one in read if one.error() is None)
        consumer.close()

    def outcomes(self) -> int:
        """Return how many outcomes are published: responses and dead letters."""
        return sum(map(self._answers_a_command, self._read(self._outcome_topics())))

    def _outcome_topics(self) -> list[str]:
        return [*map(self.topics.responses, APPLICATION.aggregate_types), self.topics.dead_letters]

    def _answers_a_command(self, message: Message) -> bool:
        """Tell whether it is no dead letter, or one of a command: others write letters, too."""
        if message.topic() != self.topics.dead_letters:
            return True
        letter = decode(DeadLetter, message.value() or b"")
        return letter.source.topic in self.topics.every_commands()

    def reaches(self, query: str, wanted: Sequence[object]) -> None:
        """Return when a query for one column gives these values; the service runs."""
        deadline = time.monotonic() + QUIET_S
        with Reader(self.database_url, readable(projections(APPLICATION))) as reader:
            while (found := [value for (value,) in reader.select(query).rows]) != [*wanted]:
                assert time.monotonic() < deadline, f"{query} gives {found}"
                time.sleep(ASK_AGAIN_S)

    def sql(self, query: str, role: str = "reader") -> list[list[Any]]:
        """Return the rows of a query on the read side, as `verdict sql` shows them to a role."""
        done = self.cli("sql", query, "--json", "--as", role)
        assert done.returncode == 0, done.stderr
        return [list(json.loads(line).values()) for line in done.stdout.splitlines()]

    def await_read_side(self) -> None:
        """Return when what readers see of every projection has all that is published now."""
        deadline = time.monotonic() + QUIET_S
        ends: dict[tuple[str, int], int] = {}
        for one in self.published():
            place = (one.topic, one.partition)
            ends[place] = max(ends.get(place, 0), one.offset + 1)
        followed = (
            "select topic, partition, min(next_offset) from projection_position "
            "join projection_live using (projection, version) group by 1, 2"
        )
        with Reader(self.database_url, readable(projections(APPLICATION))) as reader:
            while behind := self._behind(ends, reader.select(followed).rows):
                assert time.monotonic() < deadline, f"the read side is behind in {behind}"
                time.sleep(ASK_AGAIN_S)

    @staticmethod
    def _behind(
        ends: dict[tuple[str, int], int], rows: Iterable[Sequence[Any]]
    ) -> dict[tuple[str, int], int]:
        """Return by how many records, of those that somebody follows."""
        reached = {(topic, number): offset for topic, number, offset in rows}
        return {
            place: ends[place] - offset
            for place, offset in reached.items()
            if offset < ends.get(place, 0)
        }

    def assert_as_the_model_says(self) -> None:
        """Hold everything that was published against the model folded over the commands log."""
        expected = fold(self.commands(), topic_prefix=self.topics.prefix)
        assert_as_the_model_says(expected, self.published(), topic_prefix=self.topics.prefix)

    def seen(self) -> SeenRecord:
        """Return the decider's progress record, as far as it can be read without waiting."""
        kafka = KafkaConfig(settings=self._options)
        return read_progress(kafka, decider_query(self.topics, 2), wait=False)

    def _read(self, topics: list[str]) -> list:  # type: ignore[type-arg]
        consumer, open_ends = self._from_the_beginning(topics)
        found = []
        while open_ends:
            for message in consumer.consume(1000, timeout=0.1):
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_ends.discard((message.topic(), message.partition()))
                else:
                    raise AssertionError(error)
        consumer.close()
        return found

    def _from_the_beginning(self, topics: list[str]) -> tuple[Consumer, set[tuple[str, int]]]:
        """Return what reads all that is committed, and the partitions of which it does so."""
        consumer = Consumer(
            self._options
            | {
                "group.id": "tests",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        known = consumer.list_topics(timeout=30).topics
        places = {(topic, number) for topic in topics for number in known[topic].partitions}
        consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])
        return consumer, places


def await_ready(service: "subprocess.Popen[str]") -> None:
    """Return when the service says that it takes commands; fail when it ends instead."""
    assert service.stdout is not None
    line = service.stdout.readline()
    assert line.startswith("ready"), f"verdict up ended with {service.wait()}: {line}"


def stop(service: "subprocess.Popen[str]", by: signal.Signals = signal.SIGTERM) -> None:
    """Ask the service to end; it must do so cleanly."""
    service.send_signal(by)
    assert service.wait(60) == 0
