"""What those that are far behind read next; parts bring all of them to the end of the log."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from schemas.position import PositionAdjusted
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live.catch_up import CatchUp, CaughtUpError, agree, lag, next_part
from verdict.read_side.live.source import KafkaBatches
from verdict.wire.partitions import OffsetRange, Spans, TopicPartition

TOPICS = ("a", "b", "c")
PARTITIONS = 2
END = 40
NEAR = 7

places = [TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITIONS)]
all_ends = st.fixed_dictionaries({place: st.integers(0, END) for place in places})
followed = st.sets(st.sampled_from(TOPICS), min_size=1)
offsets = st.fixed_dictionaries({place: st.integers(0, END) for place in places})


@st.composite
def groups(
    draw: st.DrawFn,
) -> tuple[dict[TopicPartition, int], list[dict[TopicPartition, int]]]:
    """Return the ends of the log, and how far those who follow some of its topics are."""
    ends = draw(all_ends)
    reached = []
    for topics, offset in draw(st.lists(st.tuples(followed, offsets), max_size=6)):
        reached.append({p: min(offset[p], ends[p]) for p in places if p.topic in topics})
    return ends, reached


@pytest.mark.proves("H-09")
@given(groups(), st.integers(1, 20))
def test_parts_follow_each_other_and_bring_all_to_the_end(
    drawn: tuple[dict[TopicPartition, int], list[dict[TopicPartition, int]]], most: int
) -> None:
    ends, group = drawn
    read: dict[TopicPartition, list[int]] = {}
    at = [dict(reached) for reached in group]

    while part := next_part(at, ends, most):
        assert sum(span.end - span.start for span in part.values()) <= max(most, len(part))
        for place, span in part.items():
            read.setdefault(place, []).extend(range(span.start, span.end))
            for reached in at:
                if place in reached:
                    assert span.start <= reached[place]
                    reached[place] = max(reached[place], span.end)

    assert all(lag(reached, ends) == 0 for reached in at)
    for place in places:
        first = min((reached[place] for reached in group if place in reached), default=END)
        assert read.get(place, []) == [*range(first, ends[place])]


def test_those_that_are_near_each_other_read_the_same_part() -> None:
    one, other = TopicPartition("a", 0), TopicPartition("b", 0)

    assert agree({one: 0}, {one: NEAR, other: 40}, NEAR)
    assert not agree({one: 0}, {one: NEAR + 1}, NEAR)
    assert next_part([{one: 0}, {one: 3}], {one: END}, 9) == {one: OffsetRange(0, 9)}


@pytest.fixture
def read_side(tmp_path: Path) -> Iterator[ReadSide]:
    read_side = ReadSide(f"sqlite:///{tmp_path / 'read.db'}")
    yield read_side
    read_side.close()


class Parts:
    """Reads parts of a log in memory, as `KafkaBatches` does, and remembers them."""

    most, part = NEAR, 2 * NEAR

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.read: list[Spans] = []

    def between(self, spans: Spans) -> Iterator[ProjectionBatch]:
        self.read.append(spans)
        starts = {place: span.start for place, span in spans.items()}
        yield self._log.between(starts, {place: span.end for place, span in spans.items()})


def catch_up(log: EventLog, parts: Parts, *appliers: Applier) -> CatchUp:
    def ended(error: Exception) -> None:
        raise error

    spark, batches = cast(SparkSession, None), cast(KafkaBatches, parts)
    return CatchUp(spark, batches, appliers, lambda: log.ends, ended)


def advanced(catching_up: CatchUp) -> str:
    """Return which projection has caught up first."""
    with pytest.raises(CaughtUpError) as caught:
        all(iter(catching_up.advance, False))
    return str(caught.value)


@pytest.mark.proves("H-09")
def test_the_nearest_catches_up_first_and_those_at_one_position_read_once(
    read_side: ReadSide,
) -> None:
    log = EventLog()
    log.add("p-1", opened("ada"), *(PositionAdjusted(amount=n) for n in range(1, 5 * NEAR)))
    holders, states = read_side.applier("us_holder"), read_side.applier("position_state")
    archive = read_side.applier("event_archive")
    archive.apply(log.batch())
    log.add("p-1", *(PositionAdjusted(amount=n) for n in range(1, 3 * NEAR)))
    parts = Parts(log)

    assert advanced(catch_up(log, parts, holders, states, archive)) == (
        "event_archive v1 has caught up"
    )
    assert holders.positions == states.positions == {}
    assert archive.positions != log.ends

    parts.read.clear()
    assert advanced(catch_up(log, parts, holders, states)) == "us_holder v1 has caught up"
    assert holders.positions == states.positions
    place = log.place_of("p-1")
    assert [(part[place].start, part[place].end) for part in parts.read][:2] == [(0, 14), (14, 28)]


def test_those_that_are_stopped_are_left_alone(read_side: ReadSide) -> None:
    log, holders = EventLog(), read_side.applier("us_holder")
    holders.apply(ProjectionBatch([], {log.place_of("p-1"): OffsetRange(5, 9)}))  # lacks some

    assert holders.is_stopped
    assert not catch_up(log, Parts(log), holders).advance()
