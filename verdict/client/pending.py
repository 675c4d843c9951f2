"""A command that was sent, and its outcome to come."""

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from confluent_kafka import KafkaError

from verdict.client.errors import (
    NotDeliveredError,
    OutcomeUnknownError,
    SendFailedError,
    require_same_process,
)
from verdict.model.source import Source
from verdict.wire.response import Response

LOG = logging.getLogger("verdict.kafka")
LOG.addHandler(logging.NullHandler())  # a library is silent until its user asks


class PendingError:
    """The last error of Kafka's clients, until something works again."""

    def __init__(self) -> None:
        self.text = ""

    def complain(self, error: KafkaError) -> None:
        """Keep an error; that all brokers are down says less than the error before it."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self.text:
            self.text = error.str()


class Pending:
    """One sent command. Drop it if you do not need its outcome.

    `trouble` and `held` belong to the client; `held` keeps commands with a callback alive.
    """

    def __init__(
        self,
        aggregate_type: str,
        aggregate_id: str,
        command_id: str,
        trouble: PendingError,
        held: set["Pending"],
    ) -> None:
        self.aggregate_type = aggregate_type
        self.aggregate_id = aggregate_id
        self.command_id = command_id
        self._trouble = trouble
        self._held = held
        self._made_by = os.getpid()
        self._source: Source | None = None
        self._outcome: Future[Response] = Future()

    @property
    def source(self) -> Source | None:
        """The position of the command in Kafka; None until Kafka has acknowledged it."""
        return self._source

    @property
    def done(self) -> bool:
        """Whether `wait` would return or raise at once."""
        return self._outcome.done()

    def wait(self, timeout_s: float = 30.0) -> Response:
        """Return the outcome, accepted or rejected, as soon as it has come.

        Args:
            timeout_s: The longest wait in seconds.

        Raises:
            OutcomeUnknownError: It has not come in time. Send the same command with the same
                command id again: it is decided once.
            UnreadableResponseError: A response, perhaps to this command, cannot be read here.
            NotDeliveredError: Kafka did not take the command, or did not say so in time.
            UnreadableResponsesError: The responses cannot be read any more.
            ForkedClientError: The parent of this process sent it, before the fork.
        """
        require_same_process(self._made_by)
        with suppress(TimeoutError):
            self._outcome.exception(timeout_s)
        return self.outcome_after(timeout_s)

    def add_done_callback(self, fn: Callable[["Pending"], object]) -> None:
        """Call `fn` with this object, once, as soon as `wait` would return or raise at once.

        That is at the latest when the client is closed. Dropping the `Pending` changes nothing.

        Args:
            fn: Called in the client's thread, which reads no outcome meanwhile: it must be quick
                and not wait for another command. Its exceptions are logged as `verdict.kafka`.
        """
        self._held.add(self)
        self.when_done(lambda: self._tell(fn))

    def when_done(self, fn: Callable[[], None]) -> None:
        """Call `fn` as `add_done_callback` does, unless this object is dropped before."""
        self._outcome.add_done_callback(lambda _: fn())

    def outcome_after(self, waited_s: float) -> Response:
        """Return or raise as `wait` does after so many seconds."""
        if not self.done:
            raise self._overdue(waited_s)
        error = self._outcome.exception()
        if isinstance(error, NotDeliveredError):
            error.seen = True
        if error is not None:
            raise error
        return self._outcome.result()

    def delivered(self, source: Source) -> None:
        """Keep the position of the command."""
        self._source = source

    def answer(self, response: Response) -> None:
        """End the wait with an outcome, unless it has ended."""
        with suppress(InvalidStateError):
            self._outcome.set_result(response)

    def fail(self, error: SendFailedError) -> None:
        """End the wait with an error, unless it has ended."""
        error.command_id = self.command_id
        with suppress(InvalidStateError):
            self._outcome.set_exception(error)

    def __str__(self) -> str:
        return f"command {self.command_id!r} to {self.aggregate_type} {self.aggregate_id!r}"

    def _tell(self, fn: Callable[["Pending"], object]) -> None:
        self._held.discard(self)
        try:
            fn(self)
        except BaseException:  # or the client's thread would end
            LOG.exception("a callback of %s failed", self)

    def _overdue(self, waited_s: float) -> OutcomeUnknownError:
        source = self._source
        place = "is not acknowledged by Kafka" if source is None else f"is at {source}"
        trouble = f" ({self._trouble.text})" if self._trouble.text else ""
        unknown = OutcomeUnknownError(
            f"no outcome of {self} after {waited_s:g} s; it {place}{trouble}: "
            "what became of it is unknown, ask again with the same command id"
        )
        unknown.command_id = self.command_id
        return unknown
