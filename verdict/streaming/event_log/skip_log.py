"""The operators' decisions, on a topic of the deployment; each start reads them."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from verdict.adapters.kafka.appending import write_all
from verdict.adapters.kafka.reader import KafkaLog, Options
from verdict.streaming.event_log.record import RawRecord, raw_record
from verdict.wire.codec import DecodeError
from verdict.wire.partitions import TopicPartition
from verdict.wire.records import decode, encode
from verdict.wire.skip_record import Kind, SkippedRanges, SkipRecord
from verdict.wire.topics import Topics

LOG = logging.getLogger("verdict.skips")


def read_skips(options: Options, topics: Topics) -> list[SkipRecord]:
    """Return the decisions so far, in their order; none where there is no such topic yet."""
    with KafkaLog(options) as log:
        return accepted_in(log, topics)


def skips_in(records: Iterable[RawRecord]) -> Iterator[SkipRecord]:
    """Yield the decisions in records of the topic; other records are left out, and logged.

    To leave one out is safe, as less is skipped. One stray record must not stop all readers.
    """
    strange = []
    for record in records:
        try:
            yield decode(SkipRecord, record.value or b"")
        except DecodeError as error:
            strange.append(f"{record.source}: {error}")
    if strange:
        LOG.error(
            "%s records are no decisions and are left out, the first: %s", len(strange), strange[0]
        )


def accepted_in(log: KafkaLog, topics: Topics) -> list[SkipRecord]:
    """Do what `read_skips` does, with an open reader."""
    if not log.exists(topics.skips):
        return []
    place = log.places([topics.skips])[0]  # none is ever written to one that was added
    messages = log.read(log.bounds([place]))
    return [*skips_in(map(raw_record, messages))]


@contextmanager
def reader_skipping(
    options: Options, topics: Topics, *, only_unreadable: bool = False
) -> Iterator[KafkaLog]:
    """Give a reader that leaves out what operators skipped, or only what would end it."""
    with KafkaLog(options) as log:
        log.passed_over = skipped_ranges(accepted_in(log, topics))
        log.shows_passed_over = only_unreadable
        yield log


def skipped_ranges(decisions: Iterable[SkipRecord]) -> SkippedRanges:
    """Return the places that these decisions skip."""
    return SkippedRanges.of(
        (one.source.topic, one.source.partition, one.source.offset, one.until_offset)
        for one in decisions
        if one.kind is Kind.SKIPPED
    )


def accepted_partitions(decisions: Iterable[SkipRecord]) -> frozenset[TopicPartition]:
    """Return the added partitions that an operator accepted; a decision names their offset 0."""
    return frozenset(
        TopicPartition.of(one.source)
        for one in decisions
        if one.kind is Kind.ACCEPTED and one.source.offset == one.until_offset == 0
    )


def write_skips(options: Options, topics: Topics, decisions: Sequence[SkipRecord]) -> None:
    """Return when all of `decisions` are in Kafka."""
    if not decisions:
        return
    records = (
        {"topic": topics.skips, "partition": 0, "value": encode(one), "key": str(one.source)}
        for one in decisions
    )
    write_all(options, records, f"the decision could not be written to {topics.skips}")


def quarantine_in_words(decision: SkipRecord) -> str:
    """Return what is damaged of a quarantined aggregate, and who decided to go on without it."""
    of = decision.aggregate
    assert of is not None
    about = f"{of.aggregate_type} {of.aggregate_id!r}"
    return quarantine_text(about, of.version, of.error, decision.operator, decision.reason)


def quarantine_text(about: str, version: int, error: str, operator: str, reason: str) -> str:
    """Return the sentence of a quarantine; `about` names the aggregate by its type and id."""
    return (
        f"{about} is quarantined: its history is damaged from version {version} on ({error}); "
        f"{operator} decided so ({reason})"
    )
