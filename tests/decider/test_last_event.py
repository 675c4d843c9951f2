"""C-16: a recovery holds the end of each history against what responses say of it."""

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from schemas.enrolment import LoginRecorded
from schemas.order import OrderModified
from schemas.position import PositionAdjusted
from tests.application import APPLICATION, decode_event, decode_snapshot, encode_event
from tests.decider.test_fold import ALL, decided, stored, traffic
from verdict.decider.recovery.folding import compared
from verdict.decider.recovery.histories import Stored, snapshots
from verdict.decider.recovery.outcomes import on_record as recorded
from verdict.decider.recovery.outcomes import outcomes
from verdict.decider.recovery.tasks import FOLDED_SCHEMA, row_of
from verdict.decision.handle import Limits
from verdict.decision.snapshot import Snapshot
from verdict.event_log.decisions import passed_over
from verdict.model.recorded_event import event_id
from verdict.model.source import Source
from verdict.operator.shard_state import named
from verdict.wire.decision import Decision, Lost
from verdict.wire.records import decode, encode
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
    snapshot = next(iter(snapshots(APPLICATION, history))).stand
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


def accepted(topics: Topics) -> Topics:
    """Return topics with the word of a person that what is told of may be missing."""
    return Topics(*([one._replace(behind_hole=True) for one in each] for each in topics))


def last_passed_over(topics: Topics) -> Topics:
    """Return topics with the word of a person that the last event does not count."""
    *_, last = (one for one in topics.events if one.key == LAST.key and one[0] == LAST[0])
    events = [one._replace(passed_over=one == last) for one in topics.events]
    return topics._replace(events=events)


def response_passed_over(topics: Topics) -> Topics:
    """Return topics with the word of a person that what told of the last event does not count."""
    of_it = [one for one in topics.responses if one.key == LAST.key and one[0] == LAST[0]]
    told = [decode(Response, one.value).to_version == EVENT.version for one in of_it]
    over = [one for one, tells in zip(of_it, told, strict=True) if tells]
    return topics._replace(
        responses=[one._replace(passed_over=one in over) for one in topics.responses]
    )


def answered_since(topics: Topics) -> Topics:
    """Return topics with one answer more to that aggregate, which is not behind the word."""
    of_it = [one for one in topics.responses if one.key == LAST.key and one[0] == LAST[0]]
    refused = decode(Response, of_it[-1].value).model_copy(
        update={"to_version": EVENT.version, "duplicate": True}
    )
    more = of_it[-1]._replace(value=encode(refused), offset=10**6, behind_hole=False)
    return topics._replace(responses=[*topics.responses, more])


def unanswered(topics: Topics) -> Topics:
    return topics._replace(responses=[one for one in topics.responses if one.key != LAST.key])


WHOLE: dict[str, Topics] = {  # of which each lies in a shard of its own
    "healthy": HEALTHY,
    "older": without_hashes(HEALTHY),
    "cut off": cut_off(HEALTHY),
    "altered": altered(HEALTHY),
    "appended": appended(HEALTHY),
    "gone": gone(HEALTHY),
    "unanswered": unanswered(HEALTHY),
    "older, cut off": cut_off(without_hashes(HEALTHY)),
    "older, altered": altered(without_hashes(HEALTHY)),
    "cut off, accepted": answered_since(accepted(cut_off(HEALTHY))),
    "gone, accepted": accepted(gone(HEALTHY)),
    "altered, accepted": accepted(altered(HEALTHY)),
    "appended, accepted": accepted(appended(HEALTHY)),
    "passed over": last_passed_over(HEALTHY),
    "passed over, accepted": accepted(last_passed_over(HEALTHY)),
    "appended, passed over": last_passed_over(appended(HEALTHY)),
    "appended, passed over, accepted": accepted(last_passed_over(appended(HEALTHY))),
    "response passed over": response_passed_over(HEALTHY),
}
IN_PART = {"unanswered, and responses are missing": unanswered(HEALTHY)}


LOST = LAST.aggregate_type, EVENT.aggregate_id


@pytest.fixture(scope="module")
def faults(spark: SparkSession) -> dict[str, list[str]]:
    """Return what a recovery finds wrong with each of these topics."""
    return faults_of(spark, WHOLE, whole=True) | faults_of(spark, IN_PART, whole=False)


def faults_of(
    spark: SparkSession, cases: Mapping[str, Topics], *, whole: bool
) -> dict[str, list[str]]:
    found = entries_of(spark, cases, whole=whole).where("fault IS NOT NULL").collect()
    return {
        name: [row.fault for row in found if row.shard == shard] for shard, name in enumerate(cases)
    }


def entries_of(
    spark: SparkSession,
    cases: Mapping[str, Topics],
    *,
    whole: bool,
    on_record: Mapping[str, Decision] = MappingProxyType({}),
) -> DataFrame:
    made = {name: [on_record[name]] if name in on_record else [] for name in cases}
    lost = {name: passed_over(decisions).lost_versions() for name, decisions in made.items()}
    rows = [
        (*row_of(one), shard)
        for shard, (name, topics) in enumerate(cases.items())
        for one in chain(
            snapshots(APPLICATION, topics.events, lost[name]),
            outcomes(APPLICATION, topics.responses, Limits(), 0, ALL, lost[name]),
            map(partial(recorded, APPLICATION), made[name]),
        )
    ]
    return compared(spark.createDataFrame(rows, f"{FOLDED_SCHEMA}, shard int"), whole)


@pytest.mark.long
def test_what_verdict_wrote_holds_together_in_old_and_new_responses(
    faults: dict[str, list[str]],
) -> None:
    assert faults["healthy"] == []
    assert faults["older"] == []
    assert faults["unanswered, and responses are missing"] == []


@pytest.mark.proves("C-16")
@pytest.mark.parametrize(
    ("damage", "said", "ended"),
    [
        ("cut off", EVENT.version, EVENT.version - 1),
        ("altered", EVENT.version, EVENT.version),
        ("appended", EVENT.version, EVENT.version + 1),
        ("gone", EVENT.version, "nothing"),
        ("unanswered", "nothing", EVENT.version),
        ("passed over", EVENT.version, EVENT.version - 1),
        ("appended, passed over", EVENT.version + 1, EVENT.version),
        ("response passed over", EVENT.version - 1, EVENT.version),
    ],
)
def test_a_last_event_that_is_altered_forged_or_cut_off_is_named(
    faults: dict[str, list[str]], damage: str, said: object, ended: object
) -> None:
    found = faults[damage]

    named = [one for one in found if one.startswith(f"{LAST.aggregate_type} {EVENT.aggregate_id}")]
    [fault] = named
    assert f"tells of version {said}" in fault
    ends = "no event of it is there" if damage == "gone" else f"events end with version {ended}"
    assert ends in fault
    others = damage in ("gone", "unanswered")  # of other types, under the same key
    assert others or found == named


def test_older_responses_tell_of_versions_only(faults: dict[str, list[str]]) -> None:
    assert len(faults["older, cut off"]) == 1
    assert faults["older, altered"] == []


@pytest.mark.proves("C-17")
@pytest.mark.parametrize("lost", ["cut off", "gone"])
def test_whose_last_event_is_nowhere_is_as_if_deleted_once_that_is_accepted(
    spark: SparkSession, faults: dict[str, list[str]], lost: str
) -> None:
    """Its versions are never given again, also after it was answered since."""
    assert faults[f"{lost}, accepted"] == []
    entries = entries_of(spark, {lost: WHOLE[f"{lost}, accepted"]}, whole=True)

    rows = entries.where("lost IS NOT NULL").collect()

    [row] = [row for row in rows if named(bytes(row.key)) == LOST]
    assert (row.lost.partition, row.lost.version) == (LAST.partition, EVENT.version)
    kept = decode_snapshot(LAST.aggregate_type, bytes(row.entry))
    at = kept.decided_at
    assert kept == Snapshot(EVENT.version, None, sha256(LAST.value).digest(), at)
    assert at >= EVENT.decided_at  # of its last answer


@pytest.mark.proves("C-17", "C-04")
def test_what_is_on_record_as_lost_stays_so_though_no_response_tells_of_it(
    spark: SparkSession,
) -> None:
    """Else its versions would be given again."""
    cases = {name: unanswered(WHOLE[name]) for name in ("cut off", "gone")}
    on_record = {
        name: Decision(
            source=Source(LAST.topic, LAST.partition, 10**6),
            until=10**6,
            who="ada",
            why="the disk is gone",
            decided_at=5,
            lost=Lost(*LOST, EVENT.version),
        )
        for name in cases
    }

    entries = entries_of(spark, cases, whole=False, on_record=on_record)

    rows = [row for row in entries.collect() if named(bytes(row.key)) == LOST]
    kept = {
        [*cases][row.shard]: decode_snapshot(LAST.aggregate_type, bytes(row.entry)) for row in rows
    }
    gone = Snapshot(EVENT.version, None, b"", 5)
    assert (kept["cut off"], kept["gone"]) == (gone, gone)
    assert [row.lost.version for row in rows] == [EVENT.version] * 2
    assert [row.fault for row in rows] == [None] * 2


@pytest.mark.proves("C-16", "C-17")
@pytest.mark.parametrize("name", ["cut off", "passed over"])
def test_what_is_on_record_as_lost_keeps_the_hash_that_is_told_of_it(
    spark: SparkSession, name: str
) -> None:
    """So the next event is chained to it, whether this recovery or one of before accepted it."""
    place = Source(LAST.topic, LAST.partition, 10**6)
    lost = Lost(*LOST, EVENT.version)
    made = Decision(source=place, until=10**6, who="ada", why="gone", decided_at=5, lost=lost)

    rows = entries_of(spark, {name: WHOLE[name]}, whole=True, on_record={name: made}).collect()

    [row] = [row for row in rows if named(bytes(row.key)) == LOST]
    kept = decode_snapshot(LAST.aggregate_type, bytes(row.entry))
    digest = sha256(LAST.value).digest()
    assert (row.fault, kept.version, kept.state, kept.last_hash) == (
        None, EVENT.version, None, digest,
    )  # fmt: skip


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("passed over, accepted", EVENT.version),
        ("appended, passed over, accepted", EVENT.version + 1),
    ],
)
def test_who_lacks_a_last_event_that_was_passed_over_is_lost_up_to_it(
    spark: SparkSession, faults: dict[str, list[str]], name: str, version: int
) -> None:
    """Readers have seen that version, whoever wrote it: it is never given again."""
    assert faults[name] == []

    rows = entries_of(spark, {name: WHOLE[name]}, whole=True).collect()

    [row] = [row for row in rows if named(bytes(row.key)) == LOST]
    kept = decode_snapshot(LAST.aggregate_type, bytes(row.entry))
    assert (row.lost.version, kept.version, kept.state) == (version, version, None)


@pytest.mark.proves("C-16")
@pytest.mark.parametrize("damage", ["altered", "appended"])
def test_a_last_event_that_is_altered_or_forged_is_named_whatever_is_accepted(
    faults: dict[str, list[str]], damage: str
) -> None:
    assert faults[f"{damage}, accepted"] == faults[damage]
    assert faults[damage] != []
