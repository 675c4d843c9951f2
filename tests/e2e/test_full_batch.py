"""C-11: a full batch of commands of the greatest size, with the memory that the defaults give."""

import base64
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import psutil
import pytest
from confluent_kafka import Producer

from tests.hostile import OVERSIZED, WHOLE
from tests.kit.deployment import await_true
from tests.kit.service import Deployment, await_ready, stop
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode
from verdict.wire.response import Rejection

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]

ROWS = 20_000  # of one batch: they are all there when the service starts
FILLER = base64.b64encode(Random(1).randbytes(WHOLE)).decode()  # that no compression makes small
EVERY_S = 0.05  # between two looks at the memory
PATIENCE_S = 900

# 1.2 GiB of values go through. What is allowed has room for another Python or Java.
WORKER_MIB, DRIVER_MIB, JVM_MIB = 900, 1_300, 2_400


OVER = [n for n in range(ROWS) if n % 1_000 == 999]
OPENED = [n for n in range(ROWS) if n % 3 == 0 and n not in set(OVER)]
REFUSED = [n for n in range(ROWS) if n % 3 == 1 and n not in set(OVER)]


def command(number: int) -> tuple[str, bytes, bytes]:
    """Return (aggregate type, key, value): in turn accepted, rejected, and unreadable."""
    kind, key = number % 3, f"a-{number}"
    filler = f"{number} {FILLER[number % 5_000 :]}"
    if number in OVER:
        return "order", b"oversized", filler.encode() * (OVERSIZED // len(filler))
    if kind == 2:
        return "order", b"unreadable", filler[:WHOLE].encode()
    position = {"type": "OpenPosition", "client": key, "exchange": "NASDAQ", "amount": 1}
    payload = position | {"ticker": ""} if kind == 0 else {"type": "CancelOrder", "colour": ""}
    envelope = {"command_id": f"c-{number}", "aggregate_id": key, "expected_version": 0}
    bare = len(json.dumps(envelope | {"payload": payload}))
    payload["ticker" if kind == 0 else "colour"] = filler[: WHOLE - bare]
    value = json.dumps(envelope | {"payload": payload}).encode()
    return "position" if kind == 0 else "order", key.encode(), value


def send_all(deployment: Deployment) -> int:
    """Send a batch's worth of the greatest commands; return their bytes."""
    sender = Producer(
        {"bootstrap.servers": deployment.servers, "queue.buffering.max.kbytes": 200_000}
    )
    size = 0
    for number in range(ROWS):
        aggregate_type, key, value = command(number)
        size += len(value)
        topic = deployment.topics.commands(aggregate_type)
        while True:
            try:
                sender.produce(topic, key=key, value=value)
                break
            except BufferError:
                sender.poll(0.1)
    assert sender.flush(120) == 0
    return size


@contextmanager
def watched(pid: int) -> Iterator[Counter[str]]:
    """Note the most memory (RSS in MiB) of the driver, its JVM, and any one Python worker."""
    peaks: Counter[str] = Counter()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(EVERY_S):
            try:
                driver = psutil.Process(pid)
                for one in [driver, *driver.children(recursive=True)]:
                    who = "jvm" if one.name() == "java" else "worker"
                    who = "driver" if one.pid == pid else who
                    peaks[who] = max(peaks[who], one.memory_info().rss >> 20)
            except psutil.NoSuchProcess:
                continue  # it has just ended

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield peaks
    finally:
        ended.set()
        looking.join()


def await_decided(deployment: Deployment) -> None:
    """Return when no command waits, and the read side knows all that was opened."""

    def is_decided() -> bool:
        facts = json.loads(deployment.cli("status", "--json").stdout)
        assert facts["service"], facts
        lags = [partition["lag"] for partition in facts["commands"]]
        return bool(lags) and not sum(lags)

    await_true(is_decided, what="commands wait", seconds=PATIENCE_S)
    holders = partial(deployment.sql, "SELECT count(*) FROM us_holder")
    await_true(lambda: holders() == [[len(OPENED)]], what=holders, seconds=PATIENCE_S)


def assert_everything_is_kept(deployment: Deployment) -> None:
    """Hold what was published against what was sent, without holding it all in memory."""
    topics, found = deployment.topics, Counter[str]()
    names = [topics.dead_letters]
    for kind in ("order", "position"):
        names += [topics.events(kind), topics.responses(kind), topics.rejected(kind)]
    with KafkaLog(deployment.options, PATIENCE_S) as log:
        for message in log.read(log.bounds(log.places(names))):
            topic, value = message.topic() or "", message.value() or b""
            found[topic.removeprefix(topics.prefix)] += 1
            if topic == topics.dead_letters:
                letter = decode(DeadLetter, value)
                assert len(letter.bytes or b"") == min(letter.length, WHOLE)
            elif topic == topics.rejected("order"):
                rejection = decode(Rejection, value)
                _, _, sent = command(int(rejection.command_id.removeprefix("c-")))
                assert rejection.command_bytes == sent
    assert found == {
        "position.events": len(OPENED),
        "position.responses": len(OPENED),
        "order.responses": len(REFUSED),
        "order.rejected": len(REFUSED),
        "dead-letters": ROWS - len(OPENED) - len(REFUSED),
    }


@pytest.mark.proves("C-11")
def test_a_full_batch_of_the_greatest_commands_is_decided_in_bounded_memory(
    tmp_path: Path,
) -> None:
    with EmbeddedBroker(tmp_path / "broker") as broker:
        deployment = Deployment(broker.bootstrap_servers, "full", tmp_path / "d")
        deployment.environment |= {
            "VERDICT_MAX_ROWS_PER_BATCH": str(ROWS),
            "VERDICT_DRIVER_MEMORY": "1g",
        }
        size = send_all(deployment)
        with deployment.start() as service, watched(service.pid) as peaks:
            try:
                await_ready(service)
                await_decided(deployment)
                stop(service)
            finally:
                service.kill()

        print(f"{ROWS} commands, {size >> 20} MiB; peaks in MiB: {dict(peaks)}")
        assert peaks["worker"] < WORKER_MIB
        assert peaks["driver"] < DRIVER_MIB
        assert peaks["jvm"] < JVM_MIB
        assert_everything_is_kept(deployment)
