"""The background thread, which takes acknowledgements of Kafka and reads responses."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event, Lock, Thread, current_thread

from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from verdict.adapters.kafka.listing import list_topics
from verdict.client.errors import (
    KafkaUnavailableError,
    UnreadableResponseError,
    UnreadableResponsesError,
)
from verdict.client.pending import LOG, PendingError
from verdict.client.pending_commands import Aggregate, PendingCommands
from verdict.client.producer import source_of
from verdict.wire.codec import DecodeError
from verdict.wire.partitions import partition_of
from verdict.wire.records import decode_response
from verdict.wire.topics import Topics

POLL_S = 0.05
AT_ONCE = 1_000  # most answer others: to take them one by one takes twice as long
ANSWER_S = 5.0

# these pass by themselves; librdkafka looks for the coordinator of a group that has no members
PASSING = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}

# a topic that was just created, or whose leader has just changed
ELECTING = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}
ELECTION_S = 0.05


class Responses:
    """Reads the responses to aggregate types, each from its first command on.

    With a reply name of its own it reads the partition of this name on the topic of replies. Only
    the thread uses the consumer: another one could wait for a minute, because librdkafka prefers
    the one that polls in a loop.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topics: Topics,
        config: Mapping[str, str],
        waiting: PendingCommands,
        trouble: PendingError,
        reply_to: bytes | None = None,
    ) -> None:
        self._reply_to = reply_to
        self._servers = bootstrap_servers
        self._topics = topics
        self._waiting = waiting
        self._trouble = trouble
        self._followed: dict[str, str] = {}
        self.unreadable = 0
        self._lock = Lock()
        # topic, aggregate type, and a future that is done when reading has begun, or cannot begin
        self._asked: SimpleQueue[tuple[str, str, Future[None]]] = SimpleQueue()
        self._stopping = Event()
        self._thread: Thread | None = None
        self._consumer = Consumer(
            {
                "client.id": "verdict-client",
                "reconnect.backoff.max.ms": 1_000,
                "fetch.wait.max.ms": 10,  # the broker may hold an answer back so long
                **config,
                "bootstrap.servers": bootstrap_servers,
                "logger": LOG,
                "group.id": "verdict-client",  # librdkafka requires one; nothing joins or commits
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "isolation.level": "read_committed",
                # Kafka drops replies after an hour: one that is gone ends in OutcomeUnknownError
                "auto.offset.reset": "error" if reply_to is None else "earliest",
                "error_cb": trouble.complain,
            }
        )

    def follow(self, aggregate_type: str, producer: Producer) -> None:
        """Read the responses of an aggregate type from now on; call it before its first command.

        Raises:
            KafkaUnavailableError: Kafka does not answer, or has no such topic.
        """
        own = self._reply_to is not None
        topic = self._topics.replies if own else self._topics.responses(aggregate_type)
        if current_thread() is self._thread:  # that of a callback
            if topic not in self._followed:
                self._begin(topic, aggregate_type)
            return
        with self._lock:
            if topic in self._followed:
                return
            if self._stopping.is_set():
                raise KafkaUnavailableError("the client was closed meanwhile")
            begun = Future[None]()
            self._asked.put((topic, aggregate_type, begun))
            if self._thread is None:
                self._thread = Thread(
                    target=self._run, args=(producer,), name="verdict-responses", daemon=True
                )
                self._thread.start()
            begun.result()

    def stop(self) -> None:
        """End the thread and leave Kafka."""
        with self._lock:  # so that every caller of `follow` has been answered
            self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._consumer.close()

    def _begin(self, topic: str, aggregate_type: str) -> None:
        numbers = self._partitions(topic)
        if self._reply_to is not None:
            numbers = self._own(topic, numbers, self._topics.responses(aggregate_type))
        self._consumer.incremental_assign([self._end(topic, number) for number in numbers])
        self._followed[topic] = aggregate_type

    def _begin_asked(self, failure: Exception | None = None) -> None:
        """Answer the waiting calls of `follow`: begin to read, or pass on the failure."""
        while not self._asked.empty():
            topic, aggregate_type, begun = self._asked.get()
            try:
                if failure is not None:
                    raise failure
                self._begin(topic, aggregate_type)
            except Exception as error:
                begun.set_exception(error)
            else:
                begun.set_result(None)

    def _partitions(self, topic: str) -> list[int]:
        try:
            known = list_topics(self._consumer, ANSWER_S, self._last_failure, topic).topics[topic]
        except KafkaException as error:
            raise self._unavailable(error) from error
        if known.error is not None:
            raise KafkaUnavailableError(
                f"topic {topic} cannot be read at {self._servers} ({known.error.str()}): "
                "create what is missing with `verdict topics create`"
            )
        return sorted(known.partitions)

    def _own(self, topic: str, numbers: list[int], responses: str) -> list[int]:
        """Return the partitions of our replies: one, or all if somebody may have added partitions.

        verdict writes to none that were added, and to as many of replies as of responses.
        """
        own = [partition_of(self._reply_to or b"", len(numbers))]
        if self._end(topic, numbers[-1]).offset:
            return own
        ends = [self._end(responses, number).offset for number in self._partitions(responses)]
        return numbers if len(ends) != len(numbers) or (any(ends) and not ends[-1]) else own

    def _end(self, topic: str, partition: int) -> TopicPartition:
        place = TopicPartition(topic, partition, OFFSET_INVALID)
        patience = time.monotonic() + ANSWER_S
        while True:
            try:
                place.offset = self._consumer.get_watermark_offsets(place, timeout=ANSWER_S)[1]
                return place
            except KafkaException as error:
                if error.args[0].code() not in ELECTING or time.monotonic() > patience:
                    raise self._unavailable(error) from error
                time.sleep(ELECTION_S)

    def _unavailable(self, error: KafkaException) -> KafkaUnavailableError:
        reason = self._last_failure() or error.args[0].str()
        unavailable = KafkaUnavailableError(f"cannot reach Kafka at {self._servers}: {reason}")
        unavailable.reason = reason
        return unavailable

    def _last_failure(self) -> str:
        if not self._followed:  # else a response could be lost here
            self._consumer.poll(0)  # takes the errors that librdkafka has for us
        return self._trouble.text

    def _run(self, producer: Producer) -> None:
        try:
            while not self._stopping.is_set():
                producer.poll(0)
                self._begin_asked()
                if (first := self._consumer.poll(POLL_S)) is None:
                    self._waiting.sweep()
                else:  # `consume` waits for nothing
                    self._take([first, *self._consumer.consume(AT_ONCE, 0)])
        except Exception as error:  # each waiting call gets the error
            failure = UnreadableResponsesError(f"responses at {self._servers} stopped: {error}")
            failure.__cause__ = error
            self._waiting.fail(failure)
            while not self._stopping.is_set():
                producer.poll(POLL_S)  # acknowledgements still matter
                self._begin_asked(failure)

    def _take(self, messages: Iterable[Message]) -> None:
        """Handle the awaited responses; of the others only the key is read."""
        expects, types, own = self._waiting.expects, self._followed, self._reply_to
        for message in messages:
            if (error := message.error()) is not None:
                if error.code() not in PASSING:
                    raise KafkaException(error)
                continue
            self._trouble.text = ""
            if own is not None:
                if message.key() == own:
                    self._answered(message, None)
                continue
            about = types[message.topic() or ""], message.key() or b""
            if expects(about):
                self._answered(message, about)

    def _answered(self, message: Message, about: Aggregate | None) -> None:
        """Pass a response on; `about` is None for a reply, which names its aggregate itself."""
        try:
            if (value := message.value()) is None:
                raise DecodeError("it has no value")
            response = decode_response(value)
        except DecodeError as fault:
            self._pass_over(message, about, fault)
        else:
            named = response.aggregate_type, response.aggregate_id.encode()
            self._waiting.answer(about or named, response)

    def _pass_over(self, message: Message, about: Aggregate | None, fault: DecodeError) -> None:
        """Count a response that cannot be read, and end the wait that it may have been for."""
        self.unreadable += 1
        if about is None:  # the wait ends with `OutcomeUnknownError`
            LOG.warning("the reply at %s cannot be read: %s", source_of(message), fault)
            return
        aggregate_type, key = about
        failure = UnreadableResponseError(
            f"the response at {source_of(message)} about {aggregate_type} "
            f"{key.decode(errors='replace')!r} cannot be read ({fault}): the command may have been "
            "decided, see `verdict history`; if the service is newer than this client, bring the "
            "client up to date, and ask again with the same command id"
        )
        failure.__cause__ = fault
        LOG.warning("%s", failure)
        self._waiting.pass_over(about, failure)
