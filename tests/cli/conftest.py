"""A service without Spark: the real rules behind a plain consumer, on the real broker."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from typer.testing import CliRunner, Result

from tests.application import APPLICATION
from tests.audit.books import Books
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.cli.application import IN_A_CHECKOUT
from verdict.cli.main import app
from verdict.client.producer import source_of
from verdict.settings.discovery import AnnouncedService, announce
from verdict.settings.settings import Settings
from verdict.wire.command_record import CommandRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState


class Verdict(NamedTuple):
    """What a call of the command line came to."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return stdout as NDJSON."""
        return [json.loads(line) for line in self.stdout.splitlines()]


Run = Callable[..., Verdict]


class Decider(threading.Thread):
    """Decides what comes on the commands topics, by the operator's own code."""

    def __init__(self, servers: str, topics: Topics) -> None:
        super().__init__(daemon=True)
        self._servers = servers
        self._topics = topics
        self._stopping = threading.Event()

    def run(self) -> None:
        options = {"bootstrap.servers": self._servers, "group.id": "decider"}
        consumer = Consumer(options | {"fetch.wait.max.ms": 10})
        partitions = range(self._topics.partitions)
        topics = self._topics.every_commands()
        consumer.assign([TopicPartition(topic, p, 0) for topic in topics for p in partitions])
        producer = Producer(
            {"bootstrap.servers": self._servers, "partitioner": "murmur2_random", "linger.ms": 0}
        )
        state = DictState()
        while not self._stopping.is_set():
            records = [command_record(message) for message in consumer.consume(500, 0.02)]
            batch = ShardBatch(self._topics, Limits(), state)
            for output in batch.decide(records):
                producer.produce(output.topic, output.value, output.key)
            batch.commit()
            producer.flush()
        consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()


def command_record(message: Message) -> CommandRecord:
    value, at = message.value(), message.timestamp()[1]
    return CommandRecord(source_of(message), at, message.key(), value, len(value or b""), None)


@pytest.fixture(scope="session")
def topics(shared_broker: EmbeddedBroker) -> Topics:
    """The topics of the service under test, created."""
    topics = Topics(APPLICATION, deployment="cli", prefix="cli.")
    TopicAdmin({"bootstrap.servers": shared_broker.bootstrap_servers}, topics).ensure()
    return topics


@pytest.fixture(scope="session")
def service(
    shared_broker: EmbeddedBroker, topics: Topics, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Return the data directory of a service that runs."""
    data_dir = tmp_path_factory.mktemp("service")
    database = f"sqlite:///{data_dir / 'verdict.db'}"
    decider = Decider(shared_broker.bootstrap_servers, topics)
    decider.start()
    service = AnnouncedService(os.getpid(), shared_broker.bootstrap_servers, database)
    announce(data_dir, replace(service, deployment=topics.deployment))
    yield data_dir
    decider.stop()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory: empty, and with no settings from outside."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"VERDICT_{name.upper()}", raising=False)
    monkeypatch.setenv("VERDICT_APP", IN_A_CHECKOUT)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(environment: Path) -> Run:
    """Return a function that calls `verdict` with some arguments."""

    def call(*arguments: object, stdin: str | None = None) -> Verdict:
        result: Result = CliRunner().invoke(app, [*map(str, arguments)], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Verdict(result.exit_code, result.stdout, result.stderr)

    return call


def point_at(patch: pytest.MonkeyPatch, topics: Topics, **more: object) -> None:
    """Let the environment name a deployment."""
    settings = {"deployment": topics.deployment, "topic_prefix": topics.prefix, **more}
    for name, value in settings.items():
        patch.setenv(f"VERDICT_{name.upper()}", str(value))


@pytest.fixture
def verdict(run: Run, service: Path, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return `run` for the service under test."""
    point_at(monkeypatch, topics, data_dir=service)
    return run


@pytest.fixture
def history(run: Run, books: Books, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what asks for the history of an order in the `books` of the module."""
    servers, data_dir = books.options["bootstrap.servers"], books.settings.data_dir
    where = {"data_dir": data_dir, "bootstrap_servers": servers, "database_url": books.url}
    point_at(monkeypatch, books.topics, **where)
    return partial(run, "history", "order")
