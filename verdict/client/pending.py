"""A command on its way, and the outcome that will come of it."""

import os
from threading import Event

from confluent_kafka import KafkaError

from verdict.client.errors import NotDelivered, OutcomeUnknown, see_that_not_forked
from verdict.model.source import Source
from verdict.wire.response import Response


class Trouble:
    """What Kafka's clients last complained about, until something works again."""

    def __init__(self) -> None:
        self.text = ""

    def complain(self, error: KafkaError) -> None:
        """Note an error of a client; that no broker is left says less than what came before."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self.text:
            self.text = error.str()


class Pending:
    """One sent command; whoever is not interested in its outcome just drops it."""

    def __init__(
        self, aggregate_type: str, aggregate_id: str, command_id: str, trouble: Trouble
    ) -> None:
        self.aggregate_type = aggregate_type
        self.aggregate_id = aggregate_id
        self.command_id = command_id
        self._trouble = trouble
        self._made_by = os.getpid()
        self._settled = Event()
        self._source: Source | None = None
        self._response: Response | None = None
        self._error: Exception | None = None

    @property
    def source(self) -> Source | None:
        """Where the command lies in Kafka; None until Kafka has acknowledged it."""
        return self._source

    @property
    def done(self) -> bool:
        """Whether `wait` would return or raise at once."""
        return self._settled.is_set()

    def wait(self, timeout_s: float = 30.0) -> Response:
        """Return the outcome, accepted or rejected, as soon as it is there.

        Args:
            timeout_s: How long to wait for it, in seconds.

        Raises:
            OutcomeUnknown: It is not there yet. That is no failure: send the same command with
                the same command id again, and it is decided once whatever happened.
            ResponseUnreadable: It is as unknown, because a response that may be the one to this
                command cannot be read here.
            NotDelivered: Kafka did not take the command, or did not say so in time.
            ResponsesUnreadable: The responses cannot be read any more.
            Forked: It was sent by the process that this one was forked from.
        """
        see_that_not_forked(self._made_by)
        if not self._settled.wait(timeout_s):
            raise OutcomeUnknown(self._overdue(timeout_s))
        if isinstance(self._error, NotDelivered):
            self._error.seen = True
        if self._error is not None:
            raise self._error
        assert self._response is not None
        return self._response

    def delivered(self, source: Source) -> None:
        """Note where the command lies."""
        self._source = source

    def answer(self, response: Response) -> None:
        """End the waiting with an outcome."""
        self._response = response
        self._settled.set()

    def fail(self, error: Exception) -> None:
        """End the waiting without an outcome."""
        self._error = error
        self._settled.set()

    def __str__(self) -> str:
        return f"command {self.command_id!r} to {self.aggregate_type} {self.aggregate_id!r}"

    def _overdue(self, timeout_s: float) -> str:
        source = self._source
        place = "is not acknowledged by Kafka" if source is None else f"lies at {source}"
        trouble = f" ({self._trouble.text})" if self._trouble.text else ""
        return (
            f"no outcome of {self} after {timeout_s:g} s; it {place}{trouble}: "
            "what became of it is unknown, ask again with the same command id"
        )
