"""An idle producer is polled, and a call that hangs is abandoned."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.exactly_once.deployment import Deployment
from verdict.adapters.kafka.connection import ClientLog
from verdict.streaming.exactly_once.poll_thread import CallTimedOutError, PollThread

NOWHERE = "127.0.0.1:1"
LONG_S = 60


class Ear(ClientLog):
    """Tells when something was heard."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = threading.Event()

    def log(self, level: int, template: str, *parts: str) -> None:
        super().log(level, template, *parts)
        if self.last_failure:
            self.heard.set()


class Weak(Producer):
    """One that can be told to be gone."""


def producer(ear: Ear) -> Weak:
    return Weak({"bootstrap.servers": NOWHERE, "logger": ear})


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def polled(ear: Ear) -> Iterator[PollThread]:
    thread = PollThread(producer(ear), "a test")
    yield thread
    thread.close(LONG_S)


def poll_on(thread: PollThread) -> None:
    while True:
        thread.poll()


@pytest.mark.proves("F-02")
def test_a_failure_of_an_idle_producer_is_noticed(ear: Ear, polled: PollThread) -> None:
    assert ear.heard.wait(LONG_S)
    assert NOWHERE in ear.last_failure


@pytest.mark.proves("F-02")
def test_a_call_that_never_returns_is_abandoned_and_the_producer_polled_on(ear: Ear) -> None:
    release, returned = threading.Event(), threading.Event()

    def hang() -> None:
        release.wait()
        returned.set()

    thread = PollThread(producer(ear), "one that hangs")
    with pytest.raises(CallTimedOutError, match="from 'commit of one that hangs' within 1 s"):
        thread.call(1, "commit", hang)

    ear.heard.clear()
    assert ear.heard.wait(LONG_S), "another thread polls"
    assert thread.call(LONG_S, "flush", lambda: 7) == 7
    release.set()
    assert returned.wait(LONG_S)
    thread.close(LONG_S)


def test_after_a_failed_call_closing_it_releases_the_producer_and_its_thread(ear: Ear) -> None:
    """The error, its frames and the producer in them would keep each other."""
    made = producer(ear)
    known = weakref.ref(made)
    thread = PollThread(made, "one that fails")

    def fail(of: Producer) -> int:
        raise ZeroDivisionError(len(of))

    with pytest.raises(ZeroDivisionError):
        thread.call(LONG_S, "flush", partial(fail, made))
    del made
    assert thread.call(LONG_S, "flush", lambda: known() is not None)
    thread.close(LONG_S)

    assert known() is None
    while "poll one that fails" in (one.name for one in threading.enumerate()):
        pass


def test_a_fatal_error_of_one_poll_is_raised_by_each_later_one(
    deployment: Deployment,
) -> None:
    settings = {**deployment.kafka.settings, "transactional.id": deployment.query.transactional_id}
    made = Producer({**settings, "logger": Ear()})
    made.init_transactions(30)
    made.begin_transaction()
    made.produce(deployment.events, b"taken")
    assert made.flush(30) == 0
    deployment.fence()
    made.produce(deployment.events, b"refused")

    thread = PollThread(made, "of a test")
    for _ in range(2):
        with pytest.raises(KafkaException) as told:
            poll_on(thread)
        assert told.value.args[0].code() == KafkaError._FENCED

    with suppress(KafkaException):
        thread.close(LONG_S)
