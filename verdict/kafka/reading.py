"""Reading what is committed, by position, with one deadline for all of it."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from types import TracebackType
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicMetadata  # type: ignore[attr-defined]

from verdict.client.listing import list_topics
from verdict.errors import Unreachable, VerdictError
from verdict.kafka.access import ClientLog, Deadline, Kafka
from verdict.kafka.errors import advice, settings_refused
from verdict.kafka.offsets import Offsets

RETRY_S = 0.05
# An answer to a request that librdkafka made before it was connected may wait for a second until it
# looks again; another request does not. On a slow network it gets more, up to the deadline.
ANSWER_S = 0.5
# all else passes while topics are created and brokers restart; librdkafka retries some of it only
FINAL = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError._AUTHENTICATION,
    }
)
EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
READING: dict[str, str | int | bool] = {
    "group.id": "verdict-reader",  # asked for by the client, never joined
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 10,  # the end is only known from an empty answer
}


class Reader:
    """Reads topics without joining a group or disturbing anyone; close it after use."""

    def __init__(self, kafka: Kafka, seconds: float) -> None:
        """Prepare to read; whatever is read has to arrive within so many seconds from now.

        Raises:
            SettingsInvalid: The client does not accept the settings.
        """
        self._kafka = kafka
        self.deadline = Deadline(seconds)
        self._log = ClientLog()
        settings: dict[str, Any] = {**kafka.settings, "logger": self._log}
        try:
            self._admin = AdminClient(settings)
            self._consumer = Consumer(settings | READING)
        except KafkaException as error:
            raise settings_refused(error) from error

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def partitions(self, topics: Iterable[str]) -> dict[str, int]:
        """Return how many partitions each topic has.

        Raises:
            Unreachable: Kafka does not answer in time.
            VerdictError: A topic does not exist.
        """
        known = self._known()
        if missing := sorted(set(topics) - set(known)):
            raise VerdictError(
                f"{self._kafka} has no topic {', '.join(missing)}: run `verdict topics create`"
            )
        return {topic: len(known[topic].partitions) for topic in topics}

    def topics(self) -> frozenset[str]:
        """Return the names of all topics.

        Raises:
            Unreachable: Kafka does not answer in time.
        """
        return frozenset(self._known())

    def earliest(self, partitions: dict[str, int]) -> Offsets:
        """Return the first offset that is kept, by partition; raises as `partitions` does."""
        return self._offsets(partitions, EARLIEST, IsolationLevel.READ_UNCOMMITTED)

    def latest(self, partitions: dict[str, int], *, committed: bool) -> Offsets:
        """Return the next offset by partition; raises as `partitions` does.

        Args:
            partitions: How many partitions each topic has.
            committed: Stop at the first transaction that is still open.
        """
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._offsets(partitions, LATEST, isolation)

    def first_since(self, partitions: dict[str, int], millis: int) -> Offsets:
        """Return the offset of the first record of that Kafka time or later, else the end.

        Records of transactions that are still open count. Raises as `partitions` does.

        Args:
            partitions: How many partitions each topic has.
            millis: Epoch milliseconds.
        """
        ends = self.latest(partitions, committed=False)  # first: what comes now is later than that
        since: OffsetSpec = OffsetSpec.for_timestamp(millis)
        found = self._offsets(partitions, since, IsolationLevel.READ_UNCOMMITTED)
        return {
            topic: [
                offset if 0 <= offset <= end else end
                for offset, end in zip(offsets, ends[topic], strict=True)
            ]
            for topic, offsets in found.items()
        }

    def records(self, topic: str, partition: int, start: int, end: int) -> Iterator[Message]:
        """Yield the committed records from offset `start` up to but without `end`.

        Raises:
            Unreachable: Kafka does not deliver in time.
        """
        self._consumer.assign([TopicPartition(topic, partition, start)])
        failure: KafkaException | None = None
        while (message := self._consumer.poll(self.deadline.left())) is not None:
            error = message.error()
            if error is None and _offset(message) < end:
                yield message
            elif error is None or error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                failure = KafkaException(error)
                if error.code() in FINAL:
                    break
        raise self.unreachable(f"{topic}-{partition} from offset {start}", failure)

    def unreachable(self, what: str, error: KafkaException | None) -> Unreachable:
        """Return the error for `what` could not be read; it tells what the connection said."""
        reason = self._last_failure() or (error and error.args[0].str()) or "no answer"
        return Unreachable(
            f"{what} could not be read from {self._kafka} within {self.deadline.seconds:g} s "
            f"({reason}): {advice(reason)}"
        )

    def _known(self) -> dict[str, TopicMetadata]:
        try:
            # asked by the consumer, as it waits a second before it asks again where a partition is
            return list_topics(self._consumer, self.deadline.left(), self._last_failure).topics
        except KafkaException as error:
            raise self.unreachable("the list of topics", error) from error

    def _last_failure(self) -> str:
        self._admin.poll(0)  # hands over what was logged
        return self._log.last_failure

    def _offsets(
        self, partitions: dict[str, int], spec: OffsetSpec, isolation: IsolationLevel
    ) -> Offsets:
        wanted = {
            TopicPartition(topic, number): spec
            for topic, count in partitions.items()
            for number in range(count)
        }
        patience = ANSWER_S
        while True:
            try:
                patience = min(patience, max(0.1, self.deadline.left()))
                return self._listed(partitions, wanted, isolation, patience)
            except (KafkaException, FutureTimeout) as error:
                reason = error if isinstance(error, KafkaException) else None
                final = reason is not None and reason.args[0].code() in FINAL
                if final or not self.deadline.left():
                    what = f"the offsets of {', '.join(partitions)}"
                    raise self.unreachable(what, reason) from error
            time.sleep(RETRY_S)
            patience *= 2

    def _listed(
        self,
        partitions: dict[str, int],
        wanted: dict[TopicPartition, OffsetSpec],
        isolation: IsolationLevel,
        patience_s: float,
    ) -> Offsets:
        answers = self._admin.list_offsets(
            wanted, isolation_level=isolation, request_timeout=patience_s
        )
        found: Offsets = {topic: [0] * count for topic, count in partitions.items()}
        for place, answer in answers.items():
            found[place.topic][place.partition] = answer.result(patience_s + 1).offset
        return found


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None  # every fetched record has one
    return offset
