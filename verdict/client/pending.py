"""A command on its way, and the outcome that will come of it."""

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
from verdict.client.options import LOG
from verdict.model.source import Source
from verdict.wire.response import Response


class PendingError:
    """What Kafka's clients last complained about, until something works again."""

    def __init__(self) -> None:
        self.text = ""

    def complain(self, error: KafkaError) -> None:
        """Note an error of a client; that no broker is left says less than what came before."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self.text:
            self.text = error.str()


class Pending:
    """One sent command; whoever is not interested in its outcome just drops it.

    Args:
        aggregate_type: That it is sent to.
        aggregate_id: Of the aggregate.
        command_id: Its own.
        trouble: Of the client.
        held: Of the client: those that are kept, though dropped, because somebody is to be called.
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
        """Where the command lies in Kafka; None until Kafka has acknowledged it."""
        return self._source

    @property
    def done(self) -> bool:
        """Whether `wait` would return or raise at once."""
        return self._outcome.done()

    def wait(self, timeout_s: float = 30.0) -> Response:
        """Return the outcome, accepted or rejected, as soon as it is there.

        Args:
            timeout_s: How long to wait for it, in seconds.

        Raises:
            OutcomeUnknownError: It is not there yet. That is no failure: send the same command with
                the same command id again, and it is decided once whatever happened.
            UnreadableResponseError: It is as unknown, because a response that may be the one to
                this command cannot be read here.
            NotDeliveredError: Kafka did not take the command, or did not say so in time.
            UnreadableResponsesError: The responses cannot be read any more.
            ForkedClientError: It was sent by the process that this one was forked from.
        """
        require_same_process(self._made_by)
        with suppress(TimeoutError):
            self._outcome.exception(timeout_s)
        return self.outcome_after(timeout_s)

    def add_done_callback(self, fn: Callable[["Pending"], object]) -> None:
        """Call `fn` with this object once `wait` would return or raise at once; exactly once.

        That is when there is an outcome, or none can come any more: at the latest when the client
        is closed. It is called for a command whose `Pending` is dropped, too; at once for one that
        is done; and in the order of the calls here.

        Args:
            fn: Called in a thread of the client's, which reads no outcome meanwhile: let it be
                quick, and wait for no other command. What it raises is logged as
                `verdict.kafka`.
        """
        self._held.add(self)
        self.when_done(lambda: self._tell(fn))

    def when_done(self, fn: Callable[[], None]) -> None:
        """Call `fn` as `add_done_callback` would, but only as long as this object is held."""
        self._outcome.add_done_callback(lambda _: fn())

    def outcome_after(self, waited_s: float) -> Response:
        """Return or raise what `wait` does after so many seconds."""
        if not self.done:
            raise self._overdue(waited_s)
        error = self._outcome.exception()
        if isinstance(error, NotDeliveredError):
            error.seen = True
        if error is not None:
            raise error
        return self._outcome.result()

    def delivered(self, source: Source) -> None:
        """Note where the command lies."""
        self._source = source

    def answer(self, response: Response) -> None:
        """End the waiting with an outcome, unless it has ended."""
        with suppress(InvalidStateError):
            self._outcome.set_result(response)

    def fail(self, error: SendFailedError) -> None:
        """End the waiting without an outcome, unless it has ended."""
        error.command_id = self.command_id
        with suppress(InvalidStateError):
            self._outcome.set_exception(error)

    def __str__(self) -> str:
        return f"command {self.command_id!r} to {self.aggregate_type} {self.aggregate_id!r}"

    def _tell(self, fn: Callable[["Pending"], object]) -> None:
        self._held.discard(self)
        try:
            fn(self)
        except BaseException:  # or the thread would end that others' outcomes come through
            LOG.exception("a callback of %s failed", self)

    def _overdue(self, waited_s: float) -> OutcomeUnknownError:
        source = self._source
        place = "is not acknowledged by Kafka" if source is None else f"lies at {source}"
        trouble = f" ({self._trouble.text})" if self._trouble.text else ""
        unknown = OutcomeUnknownError(
            f"no outcome of {self} after {waited_s:g} s; it {place}{trouble}: "
            "what became of it is unknown, ask again with the same command id"
        )
        unknown.command_id = self.command_id
        return unknown
