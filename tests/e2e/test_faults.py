"""What a service does when what it stands on fails, and that nothing of it is lost or doubled."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer

from commands.order import ModifyOrder
from tests.kit.faults import (
    FILE_SIZE,
    OPEN_FILES,
    fill,
    last_words,
    small_disk,
    starve,
)
from tests.kit.service import PLACE, WAIT_S, Deployment, await_ready
from tests.topics import alter
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.command_envelope import Expectation
from verdict.model.source import Source
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode

pytestmark = pytest.mark.timeout(900)

HOUR_MS = 60 * 60 * 1000
ANY = Expectation.ANY


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker of its own, which may be broken."""
    with EmbeddedBroker(tmp_path / "broker") as broker:
        yield broker


def goes_on(deployment: Deployment) -> None:
    """Hold everything against the model, after another start and a quiet phase."""
    with deployment.running():
        deployment.await_quiet()
    deployment.assert_as_the_model_says()


@pytest.mark.proves("F-12", "F-13")
@pytest.mark.campaign
@pytest.mark.parametrize("short", ["disk", "limit", "files"])
def test_a_service_that_runs_short_stops_and_says_of_what_and_damages_nothing(
    broker: EmbeddedBroker, tmp_path: Path, short: str
) -> None:
    deployment = Deployment(broker.bootstrap_servers, f"short-{short}", tmp_path / "d")
    deployment.environment["VERDICT_MAX_ROWS_PER_BATCH"] = "500"  # the start asks for their room
    with ExitStack() as held:
        filler = held.enter_context(small_disk(tmp_path / "d")) if short == "disk" else None
        with deployment.traffic(seed=67), deployment.start() as service:
            await_ready(service)
            if filler is not None:
                fill(filler)
            else:
                starve(service, *((OPEN_FILES, 40) if short == "files" else (FILE_SIZE, 0)))
            words = last_words(deployment, service)

        assert ("`ulimit -n`" if short == "files" else "could not be written to") in words
        assert ("make room there" if short == "disk" else "start again") in words
        if filler is not None:
            filler.unlink()
        goes_on(deployment)


@pytest.mark.proves("C-11")
@pytest.mark.campaign
def test_a_record_that_unpacks_to_more_than_the_jvm_holds_is_named_and_passed_over(
    own: EmbeddedBroker, tmp_path: Path
) -> None:
    """G-02: 0.4 MB that are 400 MB, in Java's client, at every start again."""
    deployment = Deployment(own.bootstrap_servers, "giant", tmp_path / "d")
    with deployment.running():
        deployment.place_all(["before"])
    topic = deployment.topics.commands("order")
    packing = {"compression.type": "gzip", "message.max.bytes": 10**9}
    sender = Producer(
        {"bootstrap.servers": own.bootstrap_servers, "queue.buffering.max.kbytes": 10**6} | packing
    )
    sent: list[Message] = []
    giant = b"\0" * 400_000_000
    sender.produce(topic, giant, b"giant", on_delivery=lambda _, message: sent.append(message))
    assert sender.flush(60) == 0
    place = Source(topic, sent[0].partition() or 0, sent[0].offset() or 0)

    for _ in range(2):
        with deployment.start() as service:
            words = last_words(deployment, service)
        assert f"{place} unpacks to 400,000,005 bytes" in words
        assert f"`verdict skip {place} --reason" in words

    passed = deployment.cli("skip", str(place), "--reason", "a test", "--operator", "ada")
    assert passed.returncode == 0, passed.stderr
    with deployment.running():
        deployment.place_all(["after"])
    dead = deployment.topics.dead_letters
    published = [one.value for one in deployment.published() if one.topic == dead]
    [letter] = [decode(DeadLetter, value) for value in published]
    assert (letter.source, letter.length) == (place, len(giant))


@pytest.mark.proves("F-15")
@pytest.mark.campaign
def test_a_clock_of_the_broker_that_jumps_an_hour_changes_no_rule(
    own: EmbeddedBroker, tmp_path: Path
) -> None:
    """The topics are let take times from outside, as no test can turn the machine's clock."""
    deployment = Deployment(own.bootstrap_servers, "clock", tmp_path / "d")
    with deployment.running():
        stamp(deployment, "CreateTime")
        with deployment.traffic(seed=65, skews_ms=(0, 0, HOUR_MS, -HOUR_MS)):
            deployment.place_all([f"meanwhile-{n}" for n in range(20)])
        stamp(deployment, "LogAppendTime")
        deployment.await_quiet()

    times = [record.timestamp for record in deployment.commands()]
    assert sum(later - time > HOUR_MS / 2 for time, later in pairwise(times)) > 9
    goes_on(deployment)


def stamp(deployment: Deployment, whose: str) -> None:
    """Let the commands topics take the time of the sender, `CreateTime`, or Kafka's own."""
    settings = {"message.timestamp.type": whose, "message.timestamp.after.max.ms": str(2**62)}
    for topic in deployment.topics.every_commands():
        alter(deployment.servers, topic, settings)


@pytest.mark.proves("F-16")
@pytest.mark.campaign
def test_an_order_that_gets_nine_of_ten_commands_holds_nothing_up(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    deployment = Deployment(broker.bootstrap_servers, "hot", tmp_path / "d")
    cold = [f"cold-{n}" for n in range(400)]
    with deployment.running():
        deployment.place_all(["hot"])
        with deployment.client() as client:
            pending = []
            for n, at in enumerate(cold):
                pending += [
                    client.send("hot", ModifyOrder(quantity=10 + 9 * n + k), expected_version=ANY)
                    for k in range(1, 10)
                ]
                pending.append(client.send(at, PLACE, expected_version=0))
            assert {one.wait(timeout_s=WAIT_S).status for one in pending} == {"ACCEPTED"}
        deployment.await_quiet()
        state = deployment.cli("state", "order", "hot", "--json")

    assert f'"version": {1 + 9 * len(cold)}' in state.stdout, state
    deployment.assert_as_the_model_says()
