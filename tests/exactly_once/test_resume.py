"""Where a query may go on: every row of the crash table, and everything that is refused."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.adapters.kafka.offsets import going_back, offsets_text, same_offsets
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.checkpoint import FRESH, CheckpointPosition
from verdict.streaming.exactly_once.errors import CheckpointMismatchError
from verdict.streaming.exactly_once.resume_checks import check_batch, check_resume
from verdict.wire.progress_record import ProgressRecord

BEGIN = {"c": [0, 2]}
FIRST = {"c": [3, 5]}
SECOND = {"c": [6, 8]}
GENESIS = ProgressRecord(
    query="decider",
    owner="o",
    generation=1,
    query_id=None,
    batch_id=-1,
    digest=b"",
    offsets=BEGIN,
    shards=2,
    handler_version="1",
)
PUBLISHED_0 = replace(GENESIS, query_id="q", batch_id=0, digest=b"d", offsets=FIRST)
PUBLISHED_1 = replace(PUBLISHED_0, batch_id=1, offsets=SECOND)
BATCH_0 = SourceBatch(query_id="q", batch_id=0, start=BEGIN, end=FIRST)
BATCH_1 = SourceBatch(query_id="q", batch_id=1, start=FIRST, end=SECOND)
BEGUN = CheckpointPosition(query_id="q", initial=BEGIN)


def at(batch: SourceBatch, *, committed: bool = False, shards: int = 2) -> CheckpointPosition:
    return CheckpointPosition(
        query_id=batch.query_id, initial=BEGIN, shards=shards, last=batch, committed=committed
    )


@pytest.mark.parametrize(
    ("progress", "checkpoint", "records_exist"),
    [
        pytest.param(None, FRESH, False, id="the very first start"),
        pytest.param(None, CheckpointPosition(query_id="q"), False, id="named, unused"),
        pytest.param(GENESIS, FRESH, False, id="after genesis"),
        pytest.param(GENESIS, BEGUN, False, id="Spark has begun, no batch yet"),
        pytest.param(GENESIS, at(BATCH_0), False, id="killed before publishing 0"),
        pytest.param(PUBLISHED_0, at(BATCH_0), True, id="killed after publishing 0"),
        pytest.param(PUBLISHED_0, at(BATCH_0, committed=True), True, id="0 is done"),
        pytest.param(PUBLISHED_0, at(BATCH_1), True, id="killed before publishing 1"),
        pytest.param(PUBLISHED_1, at(BATCH_1), True, id="killed after publishing 1"),
    ],
)
def test_a_query_goes_on_where_its_progress_record_ends(
    progress: ProgressRecord | None, checkpoint: CheckpointPosition, records_exist: bool
) -> None:
    check_resume(progress, checkpoint, records_exist=records_exist)


@pytest.mark.parametrize(
    ("progress", "checkpoint", "records_exist", "why"),
    [
        (None, FRESH, True, "outputs exist, and no progress record"),
        (None, at(BATCH_0), True, "has been used"),
        (None, BEGUN, False, "has been used"),
        (GENESIS, FRESH, True, "that no progress record covers"),
        (GENESIS, at(BATCH_0, committed=True), False, "earlier generation"),
        (GENESIS, at(BATCH_1), False, "earlier generation"),
        (replace(GENESIS, offsets=FIRST), BEGUN, False, "does not meet"),
        (PUBLISHED_0, FRESH, True, "not the one"),
        (PUBLISHED_0, BEGUN, True, "not the one"),
        (PUBLISHED_0, at(replace(BATCH_0, query_id="r")), True, "not the one"),
        (PUBLISHED_1, at(BATCH_0, committed=True), True, "does not meet"),
        (PUBLISHED_1, at(BATCH_0), True, "does not meet"),
        (PUBLISHED_0, at(BATCH_1, committed=True), True, "does not meet"),
    ],
)
def test_what_does_not_continue_is_refused_with_both_positions_and_what_to_do(
    progress: ProgressRecord | None, checkpoint: CheckpointPosition, records_exist: bool, why: str
) -> None:
    with pytest.raises(CheckpointMismatchError, match=why) as refused:
        check_resume(progress, checkpoint, records_exist=records_exist)

    said = str(refused.value)
    at_kafka = "(no progress record)" if progress is None else offsets_text(progress.offsets)
    assert f"the checkpoint is at ({checkpoint})" in said
    assert at_kafka in said
    assert "verdict recover" in said


def test_another_shard_count_is_refused() -> None:
    with pytest.raises(CheckpointMismatchError, match=r"4 shards.*verdict recover --shards N"):
        check_resume(PUBLISHED_0, at(BATCH_0, shards=4), records_exist=True)


@pytest.mark.parametrize("checkpoint", [FRESH, BEGUN, at(BATCH_0)])
def test_a_recovered_generation_starts_only_with_its_recovered_state(
    checkpoint: CheckpointPosition,
) -> None:
    recovered = replace(GENESIS, generation=2)

    check_resume(recovered, checkpoint, records_exist=True, seeded=2)
    for other in (None, 1, 3):
        with pytest.raises(CheckpointMismatchError, match="lacks the recovered state"):
            check_resume(recovered, checkpoint, records_exist=True, seeded=other)


EMPTY_1 = SourceBatch(query_id="q", batch_id=1, start=FIRST, end=FIRST)


@pytest.mark.parametrize(
    ("progress", "batch", "is_replay"),
    [
        (GENESIS, BATCH_0, False),
        (PUBLISHED_0, BATCH_1, False),
        (PUBLISHED_0, BATCH_0, True),
        (PUBLISHED_0, EMPTY_1, False),  # batches without input are distinguished by their ids
        (replace(PUBLISHED_0, batch_id=1), EMPTY_1, True),
    ],
)
def test_a_batch_continues_or_is_a_replay(
    progress: ProgressRecord, batch: SourceBatch, is_replay: bool
) -> None:
    assert check_batch(progress, batch) is is_replay
    check_resume(progress, at(batch), records_exist=progress is not GENESIS)


@pytest.mark.parametrize(
    ("progress", "batch"),
    [
        pytest.param(PUBLISHED_1, BATCH_0, id="older batch"),
        pytest.param(GENESIS, BATCH_1, id="a batch is missing"),
        pytest.param(PUBLISHED_0, replace(BATCH_0, end=SECOND), id="planned again to another end"),
        pytest.param(PUBLISHED_0, replace(BATCH_1, query_id="r"), id="another query"),
        pytest.param(PUBLISHED_0, replace(BATCH_0, batch_id=7), id="published under another id"),
        pytest.param(GENESIS, replace(BATCH_0, batch_id=7), id="not the first of its checkpoint"),
    ],
)
def test_any_other_batch_stops_and_names_both_positions(
    progress: ProgressRecord, batch: SourceBatch
) -> None:
    both = f"{re.escape(str(batch))}.*{re.escape(offsets_text(progress.offsets))}.*verdict recover"

    with pytest.raises(CheckpointMismatchError, match=both):
        check_batch(progress, batch)


def test_a_batch_that_loses_a_topic_is_refused() -> None:
    two = replace(PUBLISHED_0, offsets={"c": [3], "d": [4]})
    batch = SourceBatch(query_id="q", batch_id=1, start=two.offsets, end={"c": [5]})

    with pytest.raises(CheckpointMismatchError, match="goes back in d-0"):
        check_batch(two, batch)


POSITIONS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.lists(st.integers(0, 3), max_size=3), max_size=3
)


@given(POSITIONS, POSITIONS)
def test_a_missing_partition_counts_as_0(
    left: dict[str, list[int]], right: dict[str, list[int]]
) -> None:
    padded = [
        {topic: [*position.get(topic, []), 0, 0, 0][:3] for topic in "abc"}
        for position in (left, right)
    ]

    assert same_offsets(left, right) == (padded[0] == padded[1])
    assert bool(going_back(left, right)) == any(
        before > after
        for topic in "abc"
        for before, after in zip(padded[0][topic], padded[1][topic], strict=True)
    )


STEPS = st.lists(st.integers(0, 2), min_size=1, max_size=6)


@pytest.mark.proves("C-14")
@given(STEPS, st.integers(0, 6), st.booleans(), st.integers(0, 6), st.booleans())
def test_only_the_newest_checkpoint_ever_fits(
    steps: list[int], published: int, dying: bool, restored: int, committed: bool
) -> None:
    """Batches of random sizes are published up to one; any checkpoint of the past is tried."""
    ends = [{"c": [0]}]
    for step in steps:
        ends.append({"c": [ends[-1]["c"][0] + step]})
    published, restored = published % len(steps), restored % len(steps)
    progress = replace(PUBLISHED_0, batch_id=published, offsets=ends[published + 1])
    batch = SourceBatch(
        query_id="q", batch_id=restored, start=ends[restored], end=ends[restored + 1]
    )
    checkpoint = CheckpointPosition(
        query_id="q", initial=ends[0], shards=2, last=batch, committed=committed
    )
    continues = (
        ends[restored + committed] if not (restored == published and not committed) else None
    )

    try:
        check_resume(progress, checkpoint, records_exist=True)
    except CheckpointMismatchError:
        assert continues is not None
        assert continues != progress.offsets
    else:
        assert continues in (None, progress.offsets)
