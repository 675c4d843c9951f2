"""C-16: a recovery holds the end of each history against what responses say of it."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas.enrolment import LoginRecorded
from schemas.order import OrderModified
from schemas.position import PositionAdjusted
from tests.decider.test_fold import decided, stored, traffic
from verdict.decider.recovery.folding import compared
from verdict.decider.recovery.histories import Folded, Stored, snapshots
from verdict.decider.recovery.outcomes import outcomes
from verdict.decider.recovery.tasks import FOLDED_SCHEMA, row_of
from verdict.decision.handle import Limits
from verdict.model.recorded_event import event_id
from verdict.wire.records import decode, decode_event, encode, encode_event
from verdict.wire.response import Response

OUTPUTS = decided(traffic(7, 150), Limits())[1]


class Topics(NamedTuple):
    """What Kafka holds of events and responses, by aggregate, in order."""

    events: list[Stored]
    responses: list[Stored]


HEALTHY = Topics(stored(OUTPUTS, ".events"), stored(OUTPUTS, ".responses"))
LAST, EVENT = next(  # of an aggregate with some history, that might have happened twice
    (one, event)
    for one, other in zip(HEALTHY.events, [*HEALTHY.events[1:], None], strict=True)
    for event in [decode_event(one.aggregate_type, one.value)]
    if (other is None or (other.aggregate_type, other.key) != (one.aggregate_type, one.key))
    and event.version > 2
    and isinstance(event.payload, (OrderModified, PositionAdjusted, LoginRecorded))
)


def faults(spark: SparkSession, topics: Topics, *, whole: bool = True) -> list[str]:
    """Return what a recovery finds wrong with topics."""
    folded: Iterable[Folded] = chain(
        snapshots(topics.events), outcomes(topics.responses, Limits(), since=0)
    )
    rows = spark.createDataFrame([row_of(one) for one in folded], FOLDED_SCHEMA)
    found = compared(rows.withColumn("shard", F.lit(0)), whole)
    return [row.fault for row in found.where("fault IS NOT NULL").collect()]


def without_hashes(topics: Topics) -> Topics:
    """Return topics of before responses told of hashes."""
    older = [
        one._replace(
            value=encode(decode(Response, one.value).model_copy(update={"last_hash": None}))
        )
        for one in topics.responses
    ]
    return topics._replace(responses=older)


def cut_off(topics: Topics) -> Topics:
    return topics._replace(events=[one for one in topics.events if one != LAST])


def altered(topics: Topics) -> Topics:
    forged = LAST._replace(value=encode_event(EVENT._replace(actor="mallory")))
    return topics._replace(events=[forged if one == LAST else one for one in topics.events])


def appended(topics: Topics) -> Topics:
    """Return topics with one event more, in which all is as it must be."""
    history = [one for one in topics.events if one.key == LAST.key and one[0] == LAST[0]]
    snapshot = next(iter(snapshots(history))).stand
    assert snapshot is not None
    assert snapshot.last_hash is not None
    version = EVENT.version + 1
    more = EVENT._replace(
        version=version,
        event_id=event_id(EVENT.aggregate_type, EVENT.aggregate_id, version),
        previous_hash=snapshot.last_hash,
    )
    at = topics.events.index(LAST)
    forged = LAST._replace(value=encode_event(more), offset=LAST.offset + 10_000)
    return topics._replace(events=[*topics.events[: at + 1], forged, *topics.events[at + 1 :]])


def gone(topics: Topics) -> Topics:
    return topics._replace(events=[one for one in topics.events if one.key != LAST.key])


def unanswered(topics: Topics) -> Topics:
    return topics._replace(responses=[one for one in topics.responses if one.key != LAST.key])


def test_what_verdict_wrote_holds_together_in_old_and_new_responses(spark: SparkSession) -> None:
    assert faults(spark, HEALTHY) == []
    assert faults(spark, without_hashes(HEALTHY)) == []
    assert faults(spark, unanswered(HEALTHY), whole=False) == []


@pytest.mark.proves("C-16")
@pytest.mark.parametrize(
    ("damage", "said", "ended"),
    [
        (cut_off, EVENT.version, EVENT.version - 1),
        (altered, EVENT.version, EVENT.version),
        (appended, EVENT.version, EVENT.version + 1),
        (gone, EVENT.version, "nothing"),
        (unanswered, "nothing", EVENT.version),
    ],
)
def test_a_last_event_that_is_altered_forged_or_cut_off_is_named(
    spark: SparkSession, damage: Callable[[Topics], Topics], said: object, ended: object
) -> None:
    found = faults(spark, damage(HEALTHY))

    named = [one for one in found if one.startswith(f"{LAST.aggregate_type} {EVENT.aggregate_id}")]
    [fault] = named
    assert f"the last response tells of version {said}" in fault
    assert f"events end with version {ended}" in fault
    others = damage in (gone, unanswered)  # of other types, under the same key
    assert others or found == named


def test_older_responses_tell_of_versions_only(spark: SparkSession) -> None:
    assert len(faults(spark, cut_off(without_hashes(HEALTHY)))) == 1
    assert faults(spark, altered(without_hashes(HEALTHY))) == []
