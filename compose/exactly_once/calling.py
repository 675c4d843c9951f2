"""Calls of a producer, and what may go wrong with them."""

from types import TracebackType

from confluent_kafka import KafkaError, KafkaException, Message


class Broken(Exception):
    """The producer cannot go on; whether its transaction is committed, only the marker tells.

    `reason` is what Kafka or its client said, None for a time that ran out or a lost connection.
    """

    def __init__(self, message: str, reason: KafkaError | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class Failures:
    """The records that Kafka did not take; a transaction with one of them must not commit."""

    def __init__(self) -> None:
        self._first = ""
        self._reason: KafkaError | None = None
        self._count = 0

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._count += 1
            self._reason = self._reason or error
            self._first = (
                self._first
                or f"{error.str()} for a record on {message.topic()} under "
                + (f"the key {message.key()!r:.100}, {len(message.value() or b'')} bytes")
            )

    def check(self) -> None:
        if self._count:
            raise Broken(
                f"{self._count} records were not taken by Kafka, the first: {self._first}",
                self._reason,
            )


class Calling:
    """Turns whatever a client call raises into `Broken`, and looks for records that failed."""

    def __init__(self, what: str, failures: Failures) -> None:
        self._what = what
        self._failures = failures

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # a fatal error is raised as a KafkaError, which no `except Exception` catches
        if isinstance(error, KafkaException | KafkaError):
            said = error.args[0] if isinstance(error, KafkaException) else error
            # a KafkaError has no traceback: as a cause it breaks whoever prints one
            cause = error if isinstance(error, KafkaException) else None
            raise Broken(f"{self._what}: {said.str()} ({said.name()})", said) from cause
        if error is None:
            self._failures.check()
