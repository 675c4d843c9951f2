"""Reading topics: what is committed, by position, without joining a group or disturbing anyone."""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
)
from confluent_kafka import (
    TopicPartition as KafkaPartition,
)
from confluent_kafka.admin import TopicMetadata  # type: ignore[attr-defined]

from verdict.adapters.kafka.connection import ClientLog, Deadline
from verdict.adapters.kafka.errors import (
    RecordsDroppedError,
    TopicMissingError,
    kafka_failed,
    settings_refused,
)
from verdict.adapters.kafka.listing import list_topics
from verdict.errors import UnreachableError, VerdictError
from verdict.wire.partitions import OffsetRange, Spans, TopicPartition
from verdict.wire.skip_record import NOTHING_PASSED_OVER

ANSWER_S = 5.0  # for each question, where nobody says how long all of it may take
AT_ONCE = 1000  # records
POLL_S = 0.1  # also how long a Ctrl-C may go unheard
RETRY_S = 0.05
# a request may wait for a broker that is gone; another one goes to the leader of now. On a slow
# network each gets more, up to the deadline; the last one may end behind it
FIRST_ANSWER_S = 0.5
SILENT_S = 60.0  # without a record that must be there, and Kafka does not deliver
FOR_EVER = sys.maxsize
FIRST_CHUNK = 128  # offsets; doubled until the record is found
# all else passes while topics are created and brokers restart; librdkafka retries some of it only
FINAL = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError._AUTHENTICATION,
        KafkaError._BAD_COMPRESSION,
    }
)
Options = Mapping[str, str | int]
READING: Mapping[str, str | int | bool] = {
    "group.id": "verdict-reader",  # asked for by the client, never joined
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",  # what Kafka has dropped is never jumped over
    "fetch.wait.max.ms": 10,  # the end is only known from an empty answer
}
FOLLOWING = {"fetch.wait.max.ms": 50}  # of who may wait for more all the time


def consumer_of(options: Options, log: ClientLog, more: Mapping[str, str | int | bool]) -> Consumer:
    """Return a consumer that reads as `READING` says, but for `more`.

    Raises:
        InvalidSettingsError: librdkafka does not accept the settings.
    """
    settings: dict[str, Any] = {**options, **READING, **more, "logger": log}
    try:
        return Consumer(settings)
    except KafkaException as error:
        raise settings_refused(error) from error


def log_bounds(options: Options, places: Collection[TopicPartition]) -> Spans:
    """Return what `KafkaLog.bounds` says of some partitions; raises as it does."""
    with KafkaLog(options) as log:
        return log.bounds(places)


class KafkaLog:
    """A reader of topics, of one thing at a time; a context manager.

    Args:
        options: librdkafka's, `bootstrap.servers` and security among them.
        seconds: Within which, from now on, all must have arrived that is asked for; None: each
            question has five, and records take their time, if only one comes a minute; who follows
            waits for ever.

    Attributes:
        passed_over: Places that `read` leaves out.
        shows_passed_over: Whether `read` leaves out only those among them that cannot be unpacked.

    Raises:
        InvalidSettingsError: librdkafka does not accept the options.
    """

    def __init__(self, options: Options, seconds: float | None = None) -> None:
        self.passed_over = NOTHING_PASSED_OVER
        self.shows_passed_over = False
        self._next: dict[TopicPartition, int] = {}
        self._silent_s = 0.0
        self._options = options
        self._servers = str(options.get("bootstrap.servers"))
        self._log = ClientLog()
        self._deadline = None if seconds is None else Deadline(seconds)
        self._consumer = consumer_of(options, self._log, FOLLOWING if seconds is None else {})
        self._clients = [self._consumer]

    def __enter__(self) -> "KafkaLog":
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()

    def await_answer(self, seconds: float) -> None:
        """Return as soon as Kafka answers.

        Raises:
            UnreachableError: It does not answer within so many seconds.
        """
        allowed, self._deadline = self._deadline, Deadline(seconds)
        self.topics()
        self._deadline = allowed

    def allow(self, seconds: float) -> None:
        """Give all that is asked for from now on so many seconds."""
        self._deadline = Deadline(seconds)

    def topics(self) -> frozenset[str]:
        """Return the names of all topics.

        Raises:
            UnreachableError: Kafka does not answer in time.
        """
        return frozenset(self._listed())

    def exists(self, topic: str) -> bool:
        """Return whether there is such a topic; raises as `topics` does."""
        error = self._listed(topic)[topic].error
        return error is None or error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART

    def places(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Return every partition of some topics, in their order.

        Raises:
            UnreachableError: Kafka does not answer in time.
            VerdictError: A topic does not exist, or may not be read.
        """
        wanted = [*topics]
        known = self._listed(*wanted)
        missing = sorted(topic for topic in wanted if not self._is_there(topic, known))
        if missing:
            raise VerdictError(
                f"Kafka at {self._servers} has no topic {', '.join(missing)}: run `verdict topics "
                "create`, or start `verdict up`, which creates it"
            )
        return [
            TopicPartition(topic, n)
            for topic in wanted
            for n in range(len(known[topic].partitions))
        ]

    def bounds(self, places: Collection[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
        """Return from the first offset that is kept to the one behind the last committed record.

        Raises:
            UnreachableError: Kafka does not answer in time.
            VerdictError: It refuses.
        """
        starts = self._offsets(self._consumer, places, OFFSET_BEGINNING)
        ends = self._ends(places)
        return {place: OffsetRange(starts[place], ends[place]) for place in places}

    def written(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends with what open transactions have written; raises as `bounds` does."""
        return self._offsets(self._uncommitted, places, OFFSET_END)

    def hidden(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return where a transaction is open now: its first offset, behind which nobody reads.

        Raises:
            UnreachableError, VerdictError: As for `bounds`.
        """
        return {place: end for place, end in self._ends(ends).items() if end < ends[place]}

    def await_settled(
        self, places: Collection[TopicPartition], what: str
    ) -> dict[TopicPartition, int]:
        """Return when every transaction has ended that is open there now; with what was written.

        A transaction ends on one partition after the other: who sees one record of it need not see
        all of them yet. That takes milliseconds, where nobody has left one open.

        Raises:
            UnreachableError: One stays open for too long, or Kafka does not answer in time.
            VerdictError: Kafka refuses.
        """
        deadline, written = self._time(), self.written(places)
        while hidden := self.hidden(written):
            if not deadline.left():
                place, end = min(hidden.items())
                raise UnreachableError(
                    f"{what}: a transaction on {place} has been open for "
                    f"{deadline.seconds:g} s at offset {end}; let its writer end it, or "
                    "kafka-transactions.sh, then try again"
                )
            time.sleep(RETRY_S)
        return written

    def first_since(
        self, places: Collection[TopicPartition], millis: int
    ) -> dict[TopicPartition, int]:
        """Return the offset of the first record of that Kafka time or later, else the end.

        Records of transactions that are still open count. Raises as `bounds` does.
        """
        ends = self.written(places)  # first: what comes now is later than that
        found = self._offsets(self._uncommitted, places, millis)
        return {
            place: offset if 0 <= offset <= ends[place] else ends[place]
            for place, offset in found.items()
        }

    def read(self, spans: Spans, follow: bool = False) -> Iterator[Message]:
        """Yield the records of `spans`, in order within each partition, and all of them.

        Those in `passed_over` are left out.

        Raises:
            RecordsDroppedError: Kafka has dropped some before they were read; those before are
                yielded.
            TopicMissingError: A span begins behind the end of its partition.
            UnreachableError: Kafka does not deliver in time.
            VerdictError: A topic is gone, or a record cannot be unpacked.
        """
        ends = {place: FOR_EVER if follow else span.end for place, span in spans.items()}
        left = {place for place, span in spans.items() if span.start < ends[place]}
        self._silent_s = 0.0
        self._next = {place: spans[place].start for place in left}
        self._consumer.assign(
            [KafkaPartition(*place, start) for place, start in self._next.items()]
        )
        while left:
            for message in self._arrived(left, follow):
                place = TopicPartition(str(message.topic()), message.partition() or 0)
                if place not in left:
                    continue
                if message.error() is not None:  # there are no more now
                    reached = not follow
                else:
                    offset = message.offset() or 0
                    if offset < ends[place] and not self._leaves_out(place, offset):
                        yield message
                    self._next[place] = offset + 1
                    reached = offset + 1 >= ends[place]
                if reached:
                    left.remove(place)
        self._consumer.unassign()  # else it would fetch again and again until it is closed

    def last(
        self, place: TopicPartition, span: OffsetRange, wanted: Callable[[Message], bool]
    ) -> Message | None:
        """Return the last record of a span that is wanted; read backwards, as it is mostly near.

        Raises:
            UnreachableError, VerdictError: As for `read`.
        """
        end, chunk = span.end, FIRST_CHUNK
        while end > span.start:
            start = max(span.start, end - chunk)
            if found := [*filter(wanted, self.read({place: OffsetRange(start, end)}))]:
                return found[-1]
            end, chunk = start, 2 * chunk
        return None

    @cached_property
    def _uncommitted(self) -> Consumer:
        """Sees what open transactions have written; few need that, and a client takes its time."""
        client = consumer_of(self._options, self._log, {"isolation.level": "read_uncommitted"})
        self._clients.append(client)
        return client

    def _listed(self, *wanted: str) -> dict[str, TopicMetadata]:
        topic = wanted[0] if len(wanted) == 1 else None
        seconds = self._time().left()
        try:
            return list_topics(self._consumer, seconds, self._last_failure, topic).topics
        except KafkaException as error:
            what = f"topic {topic} cannot be read" if topic else "the topics cannot be listed"
            raise self._failed(what, error) from error

    def _is_there(self, topic: str, known: Mapping[str, TopicMetadata]) -> bool:
        error = known[topic].error if topic in known else None
        if error is not None and error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise self._failed(f"topic {topic} cannot be read", KafkaException(error))
        return topic in known and error is None

    def _ends(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(self._consumer, places, OFFSET_END)

    def _offsets(
        self, client: Consumer, places: Collection[TopicPartition], at: int
    ) -> dict[TopicPartition, int]:
        """Return what is at a time, or at `OFFSET_BEGINNING` or `OFFSET_END`, as a client sees it.

        All partitions are asked at once; behind the last record of a time, -1.
        """
        deadline, patience = self._time(), FIRST_ANSWER_S
        while places:
            try:
                return _asked(
                    client, places, at, min(patience, max(FIRST_ANSWER_S, deadline.left()))
                )
            except KafkaException as error:
                if error.args[0].code() in FINAL or not deadline.left():
                    names = ", ".join(sorted({place.topic for place in places}))
                    raise self._failed(f"the offsets of {names} cannot be read", error) from error
            time.sleep(RETRY_S)
            patience *= 2
        return {}

    def _arrived(self, left: Collection[TopicPartition], follow: bool) -> Iterator[Message]:
        """Yield what has come, records and ends of partitions."""
        began = time.monotonic()
        first = self._consumer.poll(POLL_S)
        # with all that is there besides; `consume` alone would wait for as many as it may return
        messages = [] if first is None else [first, *self._consumer.consume(AT_ONCE, 0)]
        for message in messages:
            if (error := message.error()) is None or error.code() == KafkaError._PARTITION_EOF:
                yield message
            else:
                self._raise_unless_transient(message, error)
        self._silent_s = 0.0 if messages else self._silent_s + time.monotonic() - began
        if not messages and self._is_late(follow):
            names = ", ".join(map(str, sorted(left)))
            error = KafkaError(KafkaError._TIMED_OUT, "no answer")
            raise self._failed(f"{names} cannot be read", KafkaException(error))

    def _is_late(self, follow: bool) -> bool:
        if self._deadline is not None:
            return not self._deadline.left()
        return not follow and self._silent_s > SILENT_S

    def _raise_unless_transient(self, message: Message, error: KafkaError) -> None:
        place = TopicPartition(str(message.topic()), message.partition() or 0)
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise self._out_of_range(place, message.offset() or 0)
        if error.code() == KafkaError._BAD_COMPRESSION and self._jumps(
            place, message.offset() or 0
        ):
            return
        if error.code() in FINAL or self._deadline is None or not self._deadline.left():
            what = message.topic() or "what was asked for"  # a group is of no topic
            raise self._failed(f"{what} cannot be read", KafkaException(error))

    def _leaves_out(self, place: TopicPartition, offset: int) -> bool:
        return not self.shows_passed_over and self.passed_over.holds(*place, offset)

    def _jumps(self, place: TopicPartition, told: int) -> bool:
        """Go on behind what cannot be unpacked, if it is passed over; tell whether it is.

        Kafka's client tells the first place of the batch, which may lie behind.
        """
        at = max(told, self._next.get(place, 0))
        behind = self.passed_over.reached(place, OffsetRange(at, at))
        if behind > at:
            self._next[place] = behind
            self._consumer.seek(KafkaPartition(*place, behind))
        return behind > at

    def _out_of_range(self, place: TopicPartition, needed: int) -> VerdictError:
        kept = self.bounds([place])[place]
        if needed < kept.start:
            return RecordsDroppedError(*place, needed, kept.start)
        return TopicMissingError(*place, needed, kept.end)

    def _time(self) -> Deadline:
        return self._deadline or Deadline(ANSWER_S)

    def _failed(self, what: str, error: KafkaException) -> VerdictError:
        reason, away = error.args[0], self._last_failure()
        if reason.code() == KafkaError._UNKNOWN_PARTITION and away:  # it was known: see `places`
            error = KafkaException(KafkaError(KafkaError._TRANSPORT, reason.str()))
        if self._deadline is not None and reason.code() not in FINAL:  # it may pass, in more time
            what += f" within {self._deadline.seconds:g} s"
            error = KafkaException(KafkaError(KafkaError._TIMED_OUT, reason.str()))
        failed = kafka_failed(what, self._servers, error, away)
        # a service that may not read goes on as soon as somebody lets it
        return failed if self._deadline is None else UnreachableError(str(failed))

    def _last_failure(self) -> str:
        for client in self._clients:
            client.poll(0)  # hands over what was logged
        return self._log.last_failure


def _asked(
    client: Consumer, places: Collection[TopicPartition], at: int, seconds: float
) -> dict[TopicPartition, int]:
    wanted = [KafkaPartition(*place, at) for place in places]
    found: dict[TopicPartition, int] = {}
    for answer in client.offsets_for_times(wanted, timeout=seconds):
        if answer.error is not None:
            raise KafkaException(answer.error)
        found[TopicPartition.of(answer)] = answer.offset
    return found
