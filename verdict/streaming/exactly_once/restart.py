"""Restarts a query without state where its progress record ends.

Nothing that Spark keeps matters to such a query, so each start begins a new generation with a fresh
checkpoint.
"""

import logging
from collections.abc import Collection
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, by_topic, offsets_at, starts
from verdict.streaming.exactly_once.errors import CheckpointMismatchError
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.streaming.exactly_once.fencing import claim, genesis
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import bounds_of, holds_records, read_progress
from verdict.wire.partitions import OffsetRange, TopicPartition
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
    and none is read twice. Outputs without a progress record are refused.
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
    if left := former.offsets.keys() - query.inputs:
        LOG.warning("%s: nothing follows from %s any more", query.name, ", ".join(sorted(left)))
    if at_end := {*with_history}.intersection(query.inputs) - former.read.keys():
        LOG.warning(
            "%s: from now on something follows from %s, and nothing from what is there already",
            query.name, ", ".join(sorted(at_end)),
        )  # fmt: skip
    return by_topic(
        {
            place: span.end if place.topic in at_end else _start(query, kafka, former, place, span)
            for place, span in kept.items()
        }
    )


def _start(
    query: Query,
    kafka: KafkaConfig,
    former: ProgressRecord,
    place: TopicPartition,
    kept: OffsetRange,
) -> int:
    """Return where a partition is read on; what Kafka has dropped of it is logged."""
    is_back = place.topic in former.left and place.topic not in former.offsets
    if place.partition >= len(former.read.get(place.topic, ())):
        return kept.start
    reached = offsets_at(former.read, place)
    dropped = max(kept.start - reached, 0)
    if is_back:
        LOG.warning(
            "%s: something follows again from %s, from where that was left: %d offsets before the "
            "end, %d of which Kafka has dropped",
            query.name, place, kept.end - reached, dropped,
        )  # fmt: skip
    elif dropped and place.topic in kafka.outputs:
        return reached  # of our own topics nothing may be dropped: the query will fail
    elif dropped:
        LOG.error(
            "%s: Kafka dropped %s records of %s before they were read, and nothing follows from "
            "them: its owner keeps records for less time than this deployment was away",
            query.name, dropped, place,
        )  # fmt: skip
    return reached + dropped
