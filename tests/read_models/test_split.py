"""Who leads and who catches up with whom; and that parts bring a cohort to the end."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.read_side.live.batch_split import (
    Reached,
    is_passed,
    lag,
    next_part,
    split,
    split_start,
)
from verdict.wire.partitions import OffsetRange, TopicPartition

TOPICS = ("a", "b", "c")
PARTITIONS = 2
END = 40
NEAR = 7

places = [TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITIONS)]
all_ends = st.fixed_dictionaries({place: st.integers(0, END) for place in places})
followed = st.sets(st.sampled_from(TOPICS), min_size=1)
offsets = st.fixed_dictionaries({place: st.integers(0, END) for place in places})


@st.composite
def everybody(draw: st.DrawFn) -> tuple[dict[TopicPartition, int], list[Reached]]:
    """Return the ends of the log, and how far those who follow some of its topics are."""
    ends = draw(all_ends)
    reached: list[Reached] = []
    for topics, offset in draw(st.lists(st.tuples(followed, offsets), max_size=6)):
        here = {p: min(offset[p], ends[p]) for p in places if p.topic in topics}
        reached.append(here)
    return ends, reached


@given(everybody())
def test_whoever_is_near_leads_and_the_others_are_in_one_cohort_each(
    drawn: tuple[dict[TopicPartition, int], list[Reached]],
) -> None:
    ends, reached = drawn

    leading, cohorts = split(reached, ends, NEAR)

    assert sorted([*leading, *(n for cohort in cohorts for n in cohort)]) == [*range(len(reached))]
    for number, one in enumerate(reached):
        assert (number in leading) == (sum(ends[p] - one[p] for p in one) <= NEAR)
    for cohort in cohorts:
        for one, other in combinations([reached[number] for number in cohort], 2):
            assert sum(abs(one[p] - other[p]) for p in one.keys() & other.keys()) <= NEAR


@given(everybody())
def test_the_query_begins_where_the_last_of_the_leading_is(
    drawn: tuple[dict[TopicPartition, int], list[Reached]],
) -> None:
    ends, reached = drawn
    leading = [reached[number] for number in split(reached, ends, NEAR).leading]

    begun = split_start(leading, ends)

    assert begun.keys() == ends.keys()
    for place, offset in begun.items():
        assert offset == min([one[place] for one in leading if place in one] or [ends[place]])


@pytest.mark.proves("H-09")
@given(everybody(), st.integers(1, 20))
def test_parts_follow_each_other_and_bring_all_to_the_end(
    drawn: tuple[dict[TopicPartition, int], list[Reached]], most: int
) -> None:
    ends, cohort = drawn
    read: dict[TopicPartition, list[int]] = {}
    at = [dict(reached) for reached in cohort]

    while part := next_part(at, ends, most):
        assert sum(span.end - span.start for span in part.values()) <= max(most, len(part))
        then = [is_passed(reached, part) for reached in at]
        for place, span in part.items():
            read.setdefault(place, []).extend(range(span.start, span.end))
            for reached in at:
                if place in reached:
                    assert span.start <= reached[place]
                    reached[place] = max(reached[place], span.end)
        assert then == at

    assert all(lag(reached, ends) == 0 for reached in at)
    for place in places:
        first = min((reached[place] for reached in cohort if place in reached), default=END)
        assert read.get(place, []) == [*range(first, ends[place])]


def test_a_cold_start_of_all_reads_everything_once() -> None:
    place = TopicPartition("a", 0)

    assert split([{place: 0}] * 5, {place: END}, NEAR) == ([], [[0, 1, 2, 3, 4]])
    assert next_part([{place: 0}] * 5, {place: END}, 9) == {place: OffsetRange(0, 9)}


def test_one_that_is_far_behind_goes_alone() -> None:
    place = TopicPartition("a", 0)

    found = split([{place: END}, {place: 0}, {place: END - NEAR}], {place: END}, NEAR)

    assert found == ([0, 2], [[1]])
