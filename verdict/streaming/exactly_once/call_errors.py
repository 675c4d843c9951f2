"""The errors of a producer's calls."""

from contextlib import AbstractContextManager
from typing import NoReturn

from confluent_kafka import KafkaError, KafkaException, Message

# what became of a record because another one was refused, or because the producer was closed
PURGED = {KafkaError._PURGE_INFLIGHT, KafkaError._PURGE_QUEUE}

# the fault of Kafka or the network, and not of the request
PASSING = {
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    *PURGED,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.CONCURRENT_TRANSACTIONS,
}


class TransactionFailedError(Exception):
    """The producer is unusable; only the progress record says whether its transaction committed.

    `reason` is the error of Kafka or its client, None for a timeout or a lost connection.
    """

    def __init__(self, message: str, reason: KafkaError | None = None) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def passing(self) -> bool:
        """Whether the same may succeed with another producer, once Kafka is back."""
        reason = self.reason
        return reason is None or reason.retriable() or reason.code() in PASSING


class Failures:
    """The records that Kafka did not take; a transaction with one of them must not commit.

    One refused record fails the transaction, and the client then purges those that wait. Their
    reports may come first and do not name the cause.
    """

    def __init__(self) -> None:
        self._first: _Failure | None = None
        self._cause: _Failure | None = None
        self._count = 0

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """Take in a delivery report."""
        if error is None:
            return
        self._count += 1
        if self._cause is None and error.code() not in PURGED:
            self._cause = _Failure(error, message)
        self._first = self._first or self._cause or _Failure(error, message)

    def check(self) -> None:
        """Raise TransactionFailedError if a record was refused; purged ones wait for the cause."""
        if self._cause is not None:
            self._fail(self._cause)

    def check_all(self) -> None:
        """Raise TransactionFailedError if a record was not taken, once every report is in."""
        if self._first is not None:
            self._fail(self._cause or self._first)

    def _fail(self, failure: "_Failure") -> NoReturn:
        raise TransactionFailedError(
            f"{self._count} records were not taken by Kafka: {failure}", failure.error
        )


class _Failure:
    """Why a record was not taken, without the record: it may be large, and this is kept."""

    def __init__(self, error: KafkaError, message: Message) -> None:
        self.error = error
        self._record = (
            f"a record on {message.topic()} under the key {message.key()!r:.100}, "
            f"{len(message.value() or b'')} bytes"
        )

    def __str__(self) -> str:
        return f"{self.error.str()} for {self._record}"


def translate_kafka_errors(what: str, failures: Failures) -> AbstractContextManager[None]:
    """Turn what a client call raises into TransactionFailedError; then look for failed records."""
    return _Translation(what, failures)


class _Translation(AbstractContextManager[None]):
    def __init__(self, what: str, failures: Failures) -> None:
        self._what = what
        self._failures = failures

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # a fatal error is raised as a KafkaError, which no `except Exception` catches
        if isinstance(error, KafkaException | KafkaError):
            reason = error.args[0] if isinstance(error, KafkaException) else error
            # a KafkaError has no traceback: as a cause it breaks code that prints one
            cause = error if isinstance(error, KafkaException) else None
            raise TransactionFailedError(
                f"{self._what}: {reason.str()} ({reason.name()})", reason
            ) from cause
        if error is None:
            self._failures.check()
