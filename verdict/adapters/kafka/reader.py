"""Reads what is committed in topics, by position, without joining a consumer group."""

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

from verdict.adapters.kafka.connection import ClientLog, ClientOptions, Deadline
from verdict.adapters.kafka.errors import (
    RecordsDroppedError,
    TopicMissingError,
    kafka_failed,
    settings_refused,
)
from verdict.adapters.kafka.listing import list_topics
from verdict.errors import UnreachableError, VerdictError
from verdict.wire.dead_letter_record import Pairs
from verdict.wire.partitions import OffsetRange, PartitionOffsets, Spans, TopicPartition
from verdict.wire.skip_record import NOTHING_PASSED_OVER

ANSWER_S = 5.0  # for each question without a deadline
AT_ONCE = 1000  # records
POLL_S = 0.1  # Ctrl-C waits as long
RETRY_S = 0.05
# a request may wait for a broker that is gone, so it is sent again, to the leader of then; each
# one may take twice as long as the one before
FIRST_ANSWER_S = 0.5
SILENT_S = 60.0  # until a record that must be there counts as not delivered
FOR_EVER = sys.maxsize
FIRST_CHUNK = 128  # offsets; doubled until the record is found
# all others pass while topics are created and brokers restart; librdkafka retries only some
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
    "group.id": "verdict-reader",  # the client wants one and never joins it
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",  # records that Kafka has dropped are never passed silently
    "fetch.wait.max.ms": 10,  # only an empty answer shows the end
}
FOLLOWING_MS = 50


def headers_of(message: Message) -> Pairs | None:
    """Return names and values; None if a name is not UTF-8, which hides all of them."""
    try:
        found: Any = message.headers() or ()  # its declared type allows for forms it never has
        return tuple((name, header_bytes(value)) for name, value in found)
    except (SystemError, UnicodeDecodeError):
        # The client leaves its error behind and returns nevertheless. Python makes a SystemError
        # of that, or after some calls lets the error itself show up.
        return None


def header_bytes(part: bytes | str | None) -> bytes | None:
    """Return a key, a value or that of a header, whose declared type allows for text."""
    return part.encode() if isinstance(part, str) else part


def place_of(message: Message) -> TopicPartition:
    """Return the partition of a record."""
    return TopicPartition(message.topic() or "", message.partition() or 0)


def consumer_of(options: Options, log: ClientLog, more: Mapping[str, str | int | bool]) -> Consumer:
    """Return a consumer that reads as `READING` says, except for `more`."""
    settings: ClientOptions = {**options, **READING, **more, "logger": log}
    try:
        return Consumer(settings)
    except KafkaException as error:
        raise settings_refused(error) from error


class KafkaLog:
    """A reader of topics, of one thing at a time; a context manager.

    Args:
        options: librdkafka's, `bootstrap.servers` and security among them.
        seconds: Within which, from now on, everything must have arrived; None: each question has
            five, at least one record must come each minute, and a follower waits without end.

    Attributes:
        passed_over: Places that `read` leaves out.
        shows_passed_over: Whether `read` leaves out only those among them that cannot be unpacked.
    """

    def __init__(
        self, options: Options, seconds: float | None = None, fetch_wait_ms: int = FOLLOWING_MS
    ) -> None:
        self.passed_over = NOTHING_PASSED_OVER
        self.shows_passed_over = False
        self._next: dict[TopicPartition, int] = {}
        self._silent_s = 0.0
        self._options = options
        self._servers = str(options.get("bootstrap.servers"))
        self._log = ClientLog()
        self._deadline = None if seconds is None else Deadline(seconds)
        more = {"fetch.wait.max.ms": fetch_wait_ms} if seconds is None else {}
        self._consumer = consumer_of(options, self._log, more)
        self._clients = [self._consumer]

    def __enter__(self) -> "KafkaLog":
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()

    def await_answer(self, seconds: float) -> None:
        """Return as soon as Kafka answers."""
        allowed, self._deadline = self._deadline, Deadline(seconds)
        self.topics()
        self._deadline = allowed

    def allow(self, seconds: float) -> None:
        """Give all that is asked for from now on so many seconds."""
        self._deadline = Deadline(seconds)

    def topics(self) -> frozenset[str]:
        """Return the names of all topics."""
        return frozenset(self._listed())

    def exists(self, topic: str) -> bool:
        """Return whether there is such a topic; raises as `topics` does."""
        error = self._listed(topic)[topic].error
        return error is None or error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART

    def places(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Return every partition of some topics, in their order."""
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
        """Return from the first offset that is kept to the one after the last committed record."""
        starts = self._offsets(self._consumer, places, OFFSET_BEGINNING)
        ends = self._ends(places)
        return {place: OffsetRange(starts[place], ends[place]) for place in places}

    def written(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends with what open transactions have written; raises as `bounds` does."""
        return self._offsets(self._uncommitted, places, OFFSET_END)

    def hidden(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the first offset of each open transaction; raises as `bounds` does."""
        return {place: end for place, end in self._ends(ends).items() if end < ends[place]}

    def await_settled(
        self, places: Collection[TopicPartition], what: str
    ) -> dict[TopicPartition, int]:
        """Return the ends of now, once every transaction that is open now has ended.

        A transaction ends on one partition after the other, so a reader may see a part of it.
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

        Records of open transactions count. Raises as `bounds` does.
        """
        ends = self.written(places)  # first: later records are of a later time
        found = self._offsets(self._uncommitted, places, millis)
        return {
            place: offset if 0 <= offset <= ends[place] else ends[place]
            for place, offset in found.items()
        }

    def read(self, spans: Spans, follow: bool = False) -> Iterator[Message]:
        """Yield all records of `spans` but those in `passed_over`, in order within each partition.

        Raises:
            RecordsDroppedError: Kafka has dropped some before they were read.
            TopicMissingError: A span begins after the end of its partition.
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
                place = place_of(message)
                if place not in left:
                    continue
                if message.error() is not None:  # the end of a partition
                    reached = not follow
                else:
                    offset = message.offset() or 0
                    if offset < ends[place] and not self._leaves_out(place, offset):
                        yield message
                    self._next[place] = offset + 1
                    reached = offset + 1 >= ends[place]
                if reached:
                    left.remove(place)
        self._consumer.unassign()  # else it would go on fetching until it is closed

    def follow(
        self, starts: PartitionOffsets, most: int, most_bytes: int
    ) -> Iterator[tuple[list[Message], Spans]]:
        """Yield without end what has come since the last time: records, and how far that reaches.

        At most `most` records come at a time, and about `most_bytes`. If none came for a tenth of a
        second, it yields nothing and empty spans. Raises as `read` does.
        """
        self._next = dict(starts)
        self._consumer.assign([KafkaPartition(*place, start) for place, start in starts.items()])
        while True:
            begun, records, size = dict(self._next), list[Message](), 0
            wait_s = POLL_S
            while left := min(AT_ONCE, most - len(records) if size < most_bytes else 0):
                arrived = [*self._arrived(self._next, follow=True, wait_s=wait_s, at_once=left)]
                if not arrived:
                    break
                for message in arrived:
                    size += self._take(message, records)
                wait_s = 0.0
            yield (
                records,
                {
                    place: OffsetRange(start, self._next[place])
                    for place, start in begun.items()
                    if self._next[place] > start
                },
            )

    def _take(self, message: Message, records: list[Message]) -> int:
        """Note how far a partition is read, and keep a record; return its size in bytes."""
        place, offset = place_of(message), message.offset() or 0
        if message.error() is not None:  # the end, behind the last control record
            self._next[place] = max(self._next[place], offset)
            return 0
        self._next[place] = offset + 1
        if self._leaves_out(place, offset):
            return 0
        records.append(message)
        return len(message.value() or b"")

    def last(
        self, place: TopicPartition, span: OffsetRange, wanted: Callable[[Message], bool]
    ) -> Message | None:
        """Return the last wanted record of a span, searched backwards; raises as `read` does."""
        end, chunk = span.end, FIRST_CHUNK
        while end > span.start:
            start = max(span.start, end - chunk)
            if found := [*filter(wanted, self.read({place: OffsetRange(start, end)}))]:
                return found[-1]
            end, chunk = start, 2 * chunk
        return None

    @cached_property
    def _uncommitted(self) -> Consumer:
        """A client that sees open transactions; made on demand, as few calls need it."""
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
        """Return the offsets of a time, of `OFFSET_BEGINNING` or of `OFFSET_END`.

        After the last record of a partition it is -1.
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

    def _arrived(
        self,
        left: Collection[TopicPartition],
        follow: bool,
        wait_s: float = POLL_S,
        at_once: int = AT_ONCE,
    ) -> Iterator[Message]:
        """Yield what has arrived: records and ends of partitions."""
        began = time.monotonic()
        first = self._consumer.poll(wait_s)
        # `consume` alone would wait for as many records as it may return
        messages = [] if first is None else [first]
        if messages and at_once > 1:
            messages += self._consumer.consume(at_once - 1, 0)
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
        place, offset = place_of(message), message.offset() or 0
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise self._out_of_range(place, offset)
        if error.code() == KafkaError._BAD_COMPRESSION and self._skips(place, offset):
            return
        if error.code() in FINAL or self._deadline is None or not self._deadline.left():
            what = message.topic() or "what was asked for"  # an error of a group has no topic
            raise self._failed(f"{what} cannot be read", KafkaException(error))

    def _leaves_out(self, place: TopicPartition, offset: int) -> bool:
        return not self.shows_passed_over and self.passed_over.holds(*place, offset)

    def _skips(self, place: TopicPartition, batch_start: int) -> bool:
        """Continue after a record that cannot be unpacked, if it is in `passed_over`."""
        at = max(batch_start, self._next.get(place, 0))
        after = self.passed_over.reached(place, OffsetRange(at, at))
        if after > at:
            self._next[place] = after
            self._consumer.seek(KafkaPartition(*place, after))
        return after > at

    def _out_of_range(self, place: TopicPartition, needed: int) -> VerdictError:
        kept = self.bounds([place])[place]
        if needed < kept.start:
            return RecordsDroppedError(*place, needed, kept.start)
        return TopicMissingError(*place, needed, kept.end)

    def _time(self) -> Deadline:
        return self._deadline or Deadline(ANSWER_S)

    def _failed(self, what: str, error: KafkaException) -> VerdictError:
        reason, away = error.args[0], self._last_failure()
        if reason.code() == KafkaError._UNKNOWN_PARTITION and away:  # `places` knew it
            error = KafkaException(KafkaError(KafkaError._TRANSPORT, reason.str()))
        if self._deadline is not None and reason.code() not in FINAL:  # more time may help
            what += f" within {self._deadline.seconds:g} s"
            error = KafkaException(KafkaError(KafkaError._TIMED_OUT, reason.str()))
        failed = kafka_failed(what, self._servers, error, away)
        # a service that may not read waits until somebody allows it
        return failed if self._deadline is None else UnreachableError(str(failed))

    def _last_failure(self) -> str:
        for client in self._clients:
            if not client.assignment():  # else it would return a record, which would be lost
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
