import pytest

from verdict.read_side.as_of.resolving import AsOf, ResolvedPosition, parse_as_of
from verdict.wire.partitions import TopicPartition

NOON = 1_795_262_400_000


@pytest.mark.parametrize(
    ("text", "as_of", "asked"),
    [
        ("now", AsOf(), "now"),
        ("0", AsOf(global_position=0), 0),
        ("4711", AsOf(global_position=4711), 4711),
        ("2026-11-21T12:00:00Z", AsOf(millis=NOON), "2026-11-21T12:00:00.000Z"),
        ("2026-11-21T13:00+01:00", AsOf(millis=NOON), "2026-11-21T12:00:00.000Z"),
    ],
)
def test_a_moment_is_spelled_one_way_however_it_was_asked_for(
    text: str, as_of: AsOf, asked: object
) -> None:
    assert parse_as_of(text) == as_of
    assert as_of.asked == asked


@pytest.mark.parametrize("text", ["", "-1", "yesterday", "2026-11-21T12:00:00", "٣"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time with a zone|needs a time zone"):
        parse_as_of(text)


def test_positions_are_shown_by_topic_and_partition() -> None:
    ends = {TopicPartition("b", 1): 4, TopicPartition("b", 0): 7, TopicPartition("a", 0): 0}

    assert ResolvedPosition(AsOf(), ends).shown == {
        "asked": "now",
        "positions": [
            {"topic": "a", "partition": 0, "next_offset": 0},
            {"topic": "b", "partition": 0, "next_offset": 7},
            {"topic": "b", "partition": 1, "next_offset": 4},
        ],
    }
