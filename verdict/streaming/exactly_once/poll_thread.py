"""The thread of one producer: it makes the calls that may hang, and polls between them.

librdkafka keeps the timeout of a call with threads of its own. If one of those hangs (2.16: the
thread of a broker that was missing in the metadata for a moment), the call never returns. So it
runs in a thread that can be abandoned. Between calls the producer must be polled: its log lines
wait in a queue that librdkafka walks for each further line, hundreds a second without Kafka.
"""

import math
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from confluent_kafka import KafkaException, Producer

POLL_S = 1.0
Answer = TypeVar("Answer")
Call = tuple[Future[Any], Callable[[], Any]]


class CallTimedOutError(Exception):
    """A call did not return; whether it still has an effect is unknown."""


class PollThread:
    """Makes the calls of a producer one after the other, and polls it every second otherwise.

    It holds the producer until `close`, or always once a call has hung: destroying it would wait
    for the thread that hangs.
    """

    def __init__(self, producer: Producer, name: str) -> None:
        self._producer = [producer]
        self._name = name
        self._fatal: KafkaException | None = None
        self._start()

    def call(self, seconds: float, what: str, call: Callable[[], Answer]) -> Answer:
        """Return what `call` returns, or raise what it raises; else CallTimedOutError."""
        future: Future[Answer] = Future()
        self._calls.put((future, call))
        try:
            # seconds are counted, because a process that was stopped (SIGSTOP) did not wait
            if not any(wait([future], 1).done for _ in range(math.ceil(seconds))):
                self._start()
                raise CallTimedOutError(
                    f"Kafka's client did not come back from '{what} of {self._name}' within "
                    f"{seconds:g} s"
                )
            return future.result()
        finally:
            del future  # its exception would keep this frame, and so the producer

    def poll(self) -> None:
        """Deliver all reports and log lines so far.

        Raises a KafkaException once the producer has failed for good, for example because it is
        fenced; librdkafka reports that to one poll only.
        """
        self._poll()
        if self._fatal is not None:
            raise self._fatal

    def close(self, seconds: float) -> None:
        """Drop what waits in the producer, destroy it and end the thread.

        Raises CallTimedOutError if that takes longer, or a KafkaException if the producer refuses
        to drop what waits; it is destroyed all the same.
        """
        try:
            self.call(seconds, "close", self._destroy)
        finally:
            self._calls.put(None)

    def _destroy(self) -> None:
        try:
            self._producer[0].purge()
        finally:
            self._producer.clear()

    def _start(self) -> None:
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        run = Thread(target=self._run, args=[self._calls], name=f"poll {self._name}", daemon=True)
        run.start()

    def _run(self, calls: SimpleQueue[Call | None]) -> None:
        while calls is self._calls:  # else a call returned after all, and another thread took over
            try:
                made = calls.get(timeout=POLL_S)
            except Empty:
                self._poll()
                continue
            if made is None:
                return
            _answer(*made)
            del made  # else the call, and what it holds, stays until the next one

    def _poll(self) -> None:
        try:
            for producer in self._producer:
                producer.poll(0)
        except KafkaException as fatal:
            self._fatal = fatal


def _answer(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)
        del future, call  # its traceback has this frame, and would keep both
