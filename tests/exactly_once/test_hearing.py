"""A producer that nobody calls is heard all the same, and let go in the end."""

import threading
import weakref

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from verdict.exactly_once.hearing import Hearing

from tests.exactly_once.deployment import Deployment
from verdict.kafka.access import ClientLog

NOWHERE = "127.0.0.1:1"


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


@pytest.mark.proves("F-02")
def test_a_failure_is_heard_though_nobody_calls_the_producer() -> None:
    ear = Ear()
    hearing = Hearing(Producer({"bootstrap.servers": NOWHERE, "logger": ear}), "of a test")

    assert ear.heard.wait(60)
    assert NOWHERE in ear.last_failure
    hearing.end()


def test_whoever_ends_it_lets_the_producer_and_its_thread_go() -> None:
    producer = Weak({"bootstrap.servers": NOWHERE, "logger": Ear()})
    known = weakref.ref(producer)
    hearing = Hearing(producer, "of a test")
    del producer
    hearing.now()
    assert known() is not None

    hearing.end()
    hearing.end()

    assert known() is None
    assert "hearing of a test" not in {one.name for one in threading.enumerate()}


def test_an_end_that_nobody_s_call_was_told_is_told_by_the_next(deployment: Deployment) -> None:
    settings = {**deployment.kafka.settings, "transactional.id": deployment.query.transactional_id}
    producer = Producer({**settings, "logger": Ear()})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(deployment.events, b"taken")
    assert producer.flush(30) == 0
    deployment.fence()
    producer.produce(deployment.events, b"refused")
    heard = Hearing(producer, "of a test")

    assert heard.at_its_end.wait(60)
    with pytest.raises(KafkaException) as told:
        heard.now()

    assert told.value.args[0].code() == KafkaError._FENCED
    heard.end()
