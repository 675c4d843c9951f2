"""The errors of a producer's calls."""

from contextlib import AbstractContextManager

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
        self._found: tuple[KafkaError, str] | None = None
        self._count = 0

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """Note a delivery report; not its record, which may be large."""
        if error is None:
            return
        self._count += 1
        if self._found is None or (self._is_purged and error.code() not in PURGED):
            self._found = (
                error,
                (
                    f"{error.str()} for a record on {message.topic()} under the key "
                    f"{message.key()!r:.100}, {len(message.value() or b'')} bytes"
                ),
            )

    def check(self, *, is_complete: bool = False) -> None:
        """Raise TransactionFailedError if a record was refused.

        Purged records are the reason only if each report is there, so if it `is_complete`.
        """
        if self._found is not None and (is_complete or not self._is_purged):
            error, why = self._found
            raise TransactionFailedError(
                f"{self._count} records were not taken by Kafka: {why}", error
            )

    @property
    def _is_purged(self) -> bool:
        return self._found is not None and self._found[0].code() in PURGED


class TransactionCall(AbstractContextManager[None]):
    """Turns what a client call raises into TransactionFailedError; then looks for failed records.

    It is no generator: Kafka's client raises a fatal error as a KafkaError, which `except
    Exception` does not catch.
    """

    def __init__(self, what: str, failures: Failures) -> None:
        self._what = what
        self._failures = failures

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KafkaException | KafkaError):
            reason = error.args[0] if isinstance(error, KafkaException) else error
            # a KafkaError has no traceback: as a cause it breaks code that prints one
            cause = error if isinstance(error, KafkaException) else None
            message = f"{self._what}: {reason.str()} ({reason.name()})"
            raise TransactionFailedError(message, reason) from cause
        if error is None:
            self._failures.check()
