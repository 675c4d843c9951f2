from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from verdict.wire.partitions import OffsetRange, TopicPartition, halves

SPANS = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 2)),
    st.builds(
        lambda start, size: OffsetRange(start, start + size), st.integers(0, 9), st.integers(0, 9)
    ),
)


def offsets(spans: Mapping[TopicPartition, OffsetRange]) -> list[tuple[TopicPartition, int]]:
    """Return every place that `spans` cover."""
    return sorted((at, n) for at, span in spans.items() for n in range(span.start, span.end))


@given(SPANS.filter(lambda spans: len(offsets(spans)) > 1))
def test_halves_hold_every_offset_once_and_each_partitions_in_their_order(
    spans: dict[TopicPartition, OffsetRange],
) -> None:
    first, then = halves(spans)

    assert sorted(offsets(first) + offsets(then)) == offsets(spans)
    assert 0 < len(offsets(first)) < len(offsets(spans))
    for place in first.keys() & then.keys():
        assert first[place].end == then[place].start
