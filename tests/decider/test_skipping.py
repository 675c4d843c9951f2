"""C-04, C-17: whatever is skipped, no version is given again that somebody has seen."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from random import Random
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from schemas.position import PositionAdjusted, PositionClosed
from tests.application import decode_event, decode_snapshot, encode_event
from tests.decider.test_last_event import HEALTHY, Topics, entries_of
from tests.decision.test_history import OPENED
from tests.decision.test_history import stored as recorded_history
from verdict.decider.recovery.histories import Stored
from verdict.model.message import Event
from verdict.model.source import Source
from verdict.operator.shard_state import FOR_EVER
from verdict.wire.decision import Decision, Lost
from verdict.wire.records import decode, encode
from verdict.wire.response import Response

LIFE: Sequence[Event] = (
    OPENED, PositionAdjusted(amount=7), PositionAdjusted(amount=8), PositionClosed(), OPENED,
    PositionAdjusted(amount=9),
)  # fmt: skip
KEY = b"order-1"
ANSWER = decode(Response, next(one for one in HEALTHY.responses if one[0] == "position").value)


class Case(NamedTuple):
    """What Kafka holds of one aggregate, and what of it is on record as lost since before."""

    topics: Topics
    lost: int
    accepts: bool


def made(seed: int) -> Case:
    """Return records that are damaged, forged, put between others and passed over, by chance."""
    random = Random(seed)
    history = recorded_history(*LIFE[: random.randint(1, len(LIFE))])
    values: list[bytes] = []
    for one in history:
        values += strays(random, len(history), one.event.previous_hash)
        values.append(b"?" if random.random() < 0.2 else one.value)
    values += strays(random, len(history), sha256(history[-1].value).digest())
    skips, accepts = random.random(), random.random() < 0.4
    events = [
        Stored(
            "position", "position.events", 0, offset, KEY, value,
            passed_over=random.random() < skips, behind_hole=accepts,
        )
        for offset, value in enumerate(values)
    ]  # fmt: skip
    answers = [answered(one.event.version, sha256(one.value).digest()) for one in history]
    unanswered = random.choice([0, 0, 0, len(answers)])
    responses = [
        Stored(
            "position", "position.responses", 0, offset, KEY, value,
            passed_over=random.random() < 0.2, behind_hole=accepts,
        )
        for offset, value in enumerate(answers)
    ]  # fmt: skip
    lost = random.choice([0, 0, 0, random.randint(1, len(history))])
    return Case(Topics(events, responses[unanswered:]), lost, accepts)


def strays(random: Random, versions: int, previous: bytes) -> Iterator[bytes]:
    """Yield what somebody else wrote: garbage, and events that fit or do not."""
    while random.random() < 0.25:
        version = random.randint(1, versions + 4)
        [first] = recorded_history(PositionAdjusted(amount=random.randint(1, 9)))
        hashed = random.choice([previous, b"", sha256(b"elsewhere").digest()])
        forged = first.event._replace(version=version, previous_hash=hashed, actor="mallory")
        yield random.choice([b"garbage", encode_event(forged)])


def answered(version: int, last_hash: bytes) -> bytes:
    about = {
        "aggregate_id": KEY.decode(), "from_version": version - 1, "to_version": version,
        "last_hash": last_hash, "command_id": f"c-{version}",
        "source": Source("position.commands", 0, version),
    }  # fmt: skip
    return encode(ANSWER.model_copy(update=about))


def seen(case: Case) -> int:
    """Return the last version that anybody knows of: by a response, or by following the topic."""
    reached, unreadable = case.lost, 0
    for one in case.topics.events:
        try:
            version = decode_event("position", one.value).version
        except Exception:
            unreadable += one.passed_over  # else no recovery goes on
            continue
        if reached < version <= reached + 1 + unreadable:
            reached, unreadable = version, 0
    told = (decode(Response, one.value) for one in case.topics.responses if not one.passed_over)
    return max([reached, *(one.to_version or 0 for one in told)])


@pytest.mark.proves("C-04", "C-17")
@pytest.mark.parametrize("first", [0, pytest.param(400, marks=pytest.mark.long)])
def test_no_version_that_anybody_has_seen_is_given_again(spark: SparkSession, first: int) -> None:
    cases = {str(seed): made(seed) for seed in range(first, first + 400)}
    place = Source("position.events", 0, 1000)
    on_record = {
        name: Decision(
            source=place, until=1000, who="ada", why="gone", decided_at=5,
            lost=Lost("position", KEY.decode(), case.lost),
        )
        for name, case in cases.items()
        if case.lost
    }  # fmt: skip
    topics = {name: case.topics for name, case in cases.items()}

    rows = entries_of(spark, topics, whole=False, on_record=on_record).collect()

    refused = {row.shard for row in rows if row.fault is not None}
    reached = dict[int, int]()
    for row in rows:
        if row.entry is not None and row.shard not in refused and row.keep_ms == FOR_EVER:
            reached[row.shard] = decode_snapshot("position", bytes(row.entry)).version
    wrong = [
        (name, seen(case), reached.get(shard, 0))
        for shard, (name, case) in enumerate(cases.items())
        if shard not in refused and reached.get(shard, 0) < seen(case)
    ]
    assert wrong == []
    assert len(refused) < len(cases) - 20  # some go on, so that there is something to see


@pytest.mark.proves("C-17")
@pytest.mark.long
def test_who_skips_all_and_accepts_what_is_lost_always_goes_on(spark: SparkSession) -> None:
    """The last resort, whatever lies there: what anybody has seen counts as deleted."""
    cases = {str(seed): made(seed) for seed in range(200)}
    topics = {
        name: Topics(
            [one._replace(passed_over=True, behind_hole=True) for one in case.topics.events],
            [one._replace(behind_hole=True) for one in case.topics.responses],
        )
        for name, case in cases.items()
    }

    rows = entries_of(spark, topics, whole=False).collect()

    assert [row.fault for row in rows if row.fault is not None] == []
    lost = {row.shard: row.lost.version for row in rows if row.lost is not None}
    wanted = [
        seen(case._replace(topics=one, lost=0))
        for case, one in zip(cases.values(), topics.values(), strict=True)
    ]
    assert [lost.get(shard, 0) >= version for shard, version in enumerate(wanted)] == [True] * 200
