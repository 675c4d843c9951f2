"""Restarts a query without state where its progress record ends.

Nothing that Spark keeps matters to such a query, so each start begins a new generation with a fresh
checkpoint.
"""

import logging
from collections.abc import Collection
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, by_topic, ends, offsets_at, starts
from verdict.streaming.exactly_once.errors import CheckpointMismatchError
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.streaming.exactly_once.fencing import claim, genesis
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import bounds_of, holds_records, read_progress
from verdict.wire.partitions import Spans
from verdict.wire.progress_record import ProgressRecord

LOG = logging.getLogger("verdict.streaming.queries")


def restart_from_progress(
    query: Query,
    kafka: KafkaConfig,
    on_step: OnStep = ignore_step,
    with_history: Collection[str] = (),
) -> Publisher:
    """Become the owner of `query`, and fence the earlier one.

    An input that the progress does not know begins with its first record, or at its end if it is
    among `with_history`. An added partition begins with its first record. The progress keeps the
    position of a topic that is no input any more: if it becomes one again, no record is skipped
    and none is read twice.

    Raises:
        CheckpointMismatchError: There are outputs, but no progress record says how far they go.
    """

    def earlier() -> ProgressRecord:
        progress = read_progress(kafka, query, wait=True).progress
        if progress is None and holds_records(kafka, query.outputs):
            raise CheckpointMismatchError(
                f"{query.name} cannot start: {', '.join(query.outputs)} hold records, and no "
                f"progress record in {query.progress_topic} says what they follow from; starting "
                "at the beginning would send all of it again: let it begin at the ends of "
                f"{', '.join(query.inputs)}, on record, with {query.remedy}"
            )
        offsets = _offsets(query, kafka, progress, with_history)
        new = genesis(query, progress, offsets, query.first_shards)
        read = {} if progress is None else progress.read
        return replace(
            new, left={topic: of for topic, of in read.items() if topic not in query.inputs}
        )

    return claim(query, kafka, earlier, on_step)


def _offsets(
    query: Query, kafka: KafkaConfig, former: ProgressRecord | None, with_history: Collection[str]
) -> Offsets:
    kept = bounds_of(kafka, query.inputs)
    if former is None:
        return starts(kept)
    known = query.of_inputs(former.offsets)
    if left := former.offsets.keys() - known:
        LOG.warning("%s: nothing follows from %s any more", query.name, ", ".join(sorted(left)))
    new = {place: span for place, span in kept.items() if place.topic not in known}
    back = _back(query, former, new)
    at_end = {
        topic: of for topic, of in ends(new).items() if topic in with_history and topic not in back
    }
    if at_end:
        LOG.warning(
            "%s: from now on something follows from %s, and nothing from what is there already",
            query.name, ", ".join(at_end),
        )  # fmt: skip
    first = starts(kept)
    begun = {topic: [*(of := known.get(topic, [])), *first[topic][len(of) :]] for topic in first}
    return begun | _expired(query, kafka, begun, kept) | at_end | back


def _expired(query: Query, kafka: KafkaConfig, begun: Offsets, kept: Spans) -> Offsets:
    """Return where topics of others begin if Kafka has dropped records that were not read."""
    dropped = {
        place: span.start - offsets_at(begun, place)
        for place, span in kept.items()
        if place.topic not in kafka.outputs and offsets_at(begun, place) < span.start
    }
    for place, count in dropped.items():
        LOG.error(
            "%s: Kafka dropped %s records of %s before they were read, and nothing follows from "
            "them: its owner keeps records for less time than this deployment was away",
            query.name, count, place,
        )  # fmt: skip
    topics = {place.topic for place in dropped}
    return by_topic(
        {
            place: max(offsets_at(begun, place), span.start)
            for place, span in kept.items()
            if place.topic in topics
        }
    )


def _back(query: Query, former: ProgressRecord, kept: Spans) -> Offsets:
    """Return where returning inputs go on: where they ended, or where Kafka begins now."""
    until = {place: offsets_at(former.left, place) for place in kept if place.topic in former.left}
    back = {place: max(offset, kept[place].start) for place, offset in until.items()}
    if back:
        LOG.warning(
            "%s: something follows again from %s, from where that was left: %d offsets before the "
            "end, %d of which Kafka has dropped",
            query.name, ", ".join(sorted({place.topic for place in back})),
            sum(kept[place].end - offset for place, offset in until.items()),
            sum(back[place] - offset for place, offset in until.items()),
        )  # fmt: skip
    return by_topic(back)
