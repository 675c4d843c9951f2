"""Brings some projections forward, one batch of Kafka's records after the other."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from confluent_kafka import Message
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.adapters.kafka.errors import RecordsDroppedError
from verdict.adapters.kafka.reader import KafkaLog, Options
from verdict.adapters.spark.gc import collector_paused
from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.errors import RestartRequestedError, UnreachableError
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import BYTES, NOTHING, ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Projection, ProjectionStoppedError
from verdict.read_side.schema.database import snapshot
from verdict.read_side.tables import skips, source_topics, versions
from verdict.streaming.event_log.record import raw_record
from verdict.wire.partitions import OffsetRange, PartitionOffsets, Spans, TopicPartition
from verdict.wire.skip_record import SkippedRanges
from verdict.wire.topics import Topics

LOOK_S = 1.0  # between two looks at what people decide, and at missing events
FETCH_WAIT_MS = 1000  # records that come end it at once
PARTITIONS_S = 5.0  # between two looks for added partitions


class SkippedSinceError(RestartRequestedError):
    """People have skipped a record at which a projection stopped."""


class ProjectionRunner:
    """Work that reads what comes and applies it to each of some projections.

    A projection that fails, or that another runner advances too, is stopped; the others go on. A
    step raises only what concerns all of them: the database or Kafka failed, or a bug.

    Args:
        database: Where the tables are. The runner disposes of it in the end.
        projections: Which it brings forward, in the order of their updates.
        kafka: How to connect, in librdkafka's names.
        topics: Of the deployment.
        most: Records of a batch, about.
        pause_s: Seconds from the beginning of one batch to that of the next one.
    """

    def __init__(
        self,
        database: Engine,
        projections: Sequence[Projection],
        kafka: Options,
        topics: Topics,
        *,
        most: int,
        pause_s: float = 0.0,
    ) -> None:
        self._database = database
        self._projections = projections
        self._kafka = kafka
        self._topics = topics
        self._most = most
        self._pause_s = pause_s
        self._decoder = RecordDecoder(topics)
        self._appliers: list[Applier] = []
        self._held = ExitStack()
        self._arriving: Iterator[tuple[list[Message], Spans]] | None = None
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._look_at = self._list_at = 0.0

    def step(self) -> float:
        """Apply what has come, if anything; return the seconds until the next step is due.

        Raises:
            SkippedSinceError, SupersededError: People have decided something: begin again.
            UnreachableError: The database or Kafka does not answer.
            VerdictError: Kafka has another log than before, or refuses.
        """
        began = time.monotonic()
        with _database_errors():
            if not self._appliers:
                self._open()
            if self._arriving is None:
                self._arriving = self._log.follow(self._begin(), self._most, BYTES)
            try:
                messages, spans = next(self._arriving)
            except RecordsDroppedError:  # the next step stops those that need them
                self._arriving = None
                return 0.0
            if spans:
                self._apply(messages, spans)
            self._look()
        return max(0.0, began + self._pause_s - time.monotonic()) if spans else 0.0

    def reset(self) -> None:
        """Disconnect; the next step begins again at the positions in the database."""
        self._appliers, self._arriving = [], None
        self._held.close()
        self._database.dispose()

    def _open(self) -> None:
        self._log = self._held.enter_context(KafkaLog(self._kafka, fetch_wait_ms=FETCH_WAIT_MS))
        appliers = [
            Applier(self._database, projection, self._topics, missing=missing_events)
            for projection in self._projections
        ]
        with self._database.begin() as connection:
            self._passed_over = self._log.passed_over = skips.passed_over(connection)
            source_topics.note_followed(
                connection, {one.projection.name: one.topics for one in appliers}
            )
        self._appliers = appliers

    def _begin(self) -> PartitionOffsets:
        """Return the first offset of each partition that is read.

        A projection that needs what Kafka no longer has is stopped, unless people skipped it.
        """
        log = self._log.bounds(self._log.places(self._followed()))
        self._partitions = frozenset(log)
        for applier in self._appliers:
            gone = {
                place: OffsetRange(kept.start, kept.start)
                for place, kept in log.items()
                if place.topic in applier.topics and applier.positions.get(place, 0) < kept.start
            }
            if gone:
                applier.apply(ProjectionBatch([], gone))
        begin: dict[TopicPartition, int] = {}
        for applier in self._going():
            for place, offset in reached_in(log, applier.topics, applier.positions).items():
                begin[place] = min(offset, begin.get(place, offset))
        return begin

    def _apply(self, messages: Sequence[Message], spans: Spans) -> None:
        delivery = self._decoder.delivery
        with collector_paused():
            batch = ProjectionBatch((delivery(*raw_record(one)) for one in messages), spans)
            for applier in self._going():
                applier.follow(batch)
            self._release()

    def _release(self) -> None:
        """Apply the rest of the missing events that came."""
        for applier in self._going():
            while applier.released:
                applier.follow(NOTHING)

    def _look(self) -> None:
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_S
        for applier in self._going():
            if applier.waits:  # the archive may have got what it waits for
                applier.follow(NOTHING)
        self._release()
        self._check_stopped()
        if now >= self._list_at:
            self._list_at = now + PARTITIONS_S
            if self._has_other_partitions():
                self._arriving = None

    def _has_other_partitions(self) -> bool:
        try:
            return self._partitions != frozenset(self._log.places(self._followed()))
        except UnreachableError:
            return False  # Kafka is asked again soon

    def _check_stopped(self) -> None:
        if stopped := [one for one in self._appliers if one.is_stopped]:
            with snapshot(self._database) as connection:
                passed_over = skips.passed_over(connection)
                for applier in stopped:
                    versions.check_live(connection, applier.projection)
                    require_still_stopped(applier, passed_over, self._passed_over)

    def _going(self) -> list[Applier]:
        return [one for one in self._appliers if not one.is_stopped]

    def _followed(self) -> list[str]:
        return sorted({topic for one in self._appliers for topic in one.topics})


def reached_in(
    log: Spans, topics: Collection[str], positions: PartitionOffsets
) -> dict[TopicPartition, int]:
    """Return the next offset that Kafka has for a projection, in each partition of its topics."""
    return {
        place: max(kept.start, positions.get(place, 0))
        for place, kept in log.items()
        if place.topic in topics
    }


def require_still_stopped(
    applier: Applier, passed_over: SkippedRanges, known: SkippedRanges
) -> None:
    """Return unless people have skipped the record at which a projection stopped."""
    failure = applier.failure
    if not isinstance(failure, ProjectionStoppedError) or known.holds(*failure.place):
        return
    if passed_over.holds(*failure.place):
        place = ":".join(map(str, failure.place))
        raise SkippedSinceError(f"{place}, which stopped {applier.projection.name}, is skipped")


@contextmanager
def _database_errors() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise UnreachableError(
            f"the database of the read side failed: {one_line_error(error.orig)}"
        ) from error
