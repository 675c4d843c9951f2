"""Which projections share a process."""

from hypothesis import given
from hypothesis import strategies as st

from verdict.read_side.live.live_projections import distance, grouped
from verdict.wire.partitions import TopicPartition

TOPICS = ("a", "b", "c")
NEAR = 7

places = [TopicPartition(topic, number) for topic in TOPICS for number in range(2)]
offsets = st.dictionaries(st.sampled_from(places), st.integers(0, 40))
some = st.dictionaries(st.text("pqrs", min_size=1, max_size=3), offsets, max_size=6)


@given(some, st.integers(1, 4))
def test_each_is_in_one_group_with_those_that_are_near(
    reached: dict[str, dict[TopicPartition, int]], processes: int
) -> None:
    groups = grouped(reached, processes, NEAR)

    assert sorted(name for group in groups for name in group) == sorted(reached)
    assert all(groups)
    for group in groups:
        for name in group:
            assert all(distance(reached[name], reached[other]) <= NEAR for other in group)


def test_those_that_are_near_are_split_and_one_that_is_far_behind_is_alone() -> None:
    at_end = {TopicPartition("a", 0): 40}
    reached = {"one": at_end, "two": at_end, "new": {TopicPartition("a", 0): 0}, "three": at_end}

    assert grouped(reached, 1, NEAR) == [["one", "two", "three"], ["new"]]
    assert grouped(reached, 2, NEAR) == [["one", "three"], ["two"], ["new"]]


def test_processes_get_about_the_same_number_of_records() -> None:
    of_all = {TopicPartition("a", number): 50 for number in range(2)}
    of_one = {TopicPartition("a", 0): 50}
    reached = {"one": of_one, "all": of_all, "two": of_one}

    assert grouped(reached, 2, near=100) == [["all"], ["one", "two"]]
