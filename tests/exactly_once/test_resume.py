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
from verdict.streaming.exactly_once.resume_checks import Action, check_batch, check_resume
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
        pytest.param(
            None, FRESH, True, "outputs exist, and no progress record", id="progress record lost"
        ),
        pytest.param(
            None, at(BATCH_0), True, "has been used", id="progress record lost, checkpoint kept"
        ),
        pytest.param(None, BEGUN, False, "has been used", id="Kafka is another one"),
        pytest.param(
            GENESIS, FRESH, True, "that no progress record covers", id="others wrote the outputs"
        ),
        pytest.param(
            GENESIS,
            at(BATCH_0, committed=True),
            False,
            "earlier generation",
            id="progress record went back",
        ),
        pytest.param(GENESIS, at(BATCH_1), False, "earlier generation", id="went back by more"),
        pytest.param(
            replace(GENESIS, offsets=FIRST), BEGUN, False, "does not meet", id="Spark began before"
        ),
        pytest.param(PUBLISHED_0, FRESH, True, "not the one", id="fresh checkpoint"),
        pytest.param(PUBLISHED_0, BEGUN, True, "not the one", id="checkpoint reset by Spark"),
        pytest.param(
            PUBLISHED_0, at(replace(BATCH_0, query_id="r")), True, "not the one", id="other query"
        ),
        pytest.param(
            PUBLISHED_1, at(BATCH_0, committed=True), True, "does not meet", id="older checkpoint"
        ),
        pytest.param(PUBLISHED_1, at(BATCH_0), True, "does not meet", id="older, in a batch"),
        pytest.param(
            PUBLISHED_0,
            at(BATCH_1, committed=True),
            True,
            "does not meet",
            id="older progress record",
        ),
    ],
)
def test_what_does_not_continue_is_refused_with_both_positions_and_what_to_do(
    progress: ProgressRecord | None, checkpoint: CheckpointPosition, records_exist: bool, why: str
) -> None:
    with pytest.raises(CheckpointMismatchError, match=why) as refused:
        check_resume(progress, checkpoint, records_exist=records_exist)

    said = str(refused.value)
    assert f"the checkpoint is at ({checkpoint})" in said
    assert (
        "Kafka at (no progress record)" if progress is None else offsets_text(progress.offsets)
    ) in said
    assert "verdict recover" in said


@pytest.mark.parametrize(
    ("checkpoint", "asked"),
    [(at(BATCH_0, shards=4), None), (at(BATCH_0, shards=4), 4), (at(BATCH_0), 4), (FRESH, 4)],
)
def test_another_shard_count_is_refused(checkpoint: CheckpointPosition, asked: int | None) -> None:
    with pytest.raises(CheckpointMismatchError, match=r"4 shards.*verdict recover --shards N"):
        check_resume(PUBLISHED_0, checkpoint, records_exist=True, shards=asked)


def test_the_shard_count_of_the_progress_record_may_be_asked_for() -> None:
    check_resume(PUBLISHED_0, at(BATCH_0), records_exist=True, shards=2)


@pytest.mark.parametrize("checkpoint", [FRESH, BEGUN, at(BATCH_0)])
def test_a_recovered_generation_starts_only_with_its_recovered_state(
    checkpoint: CheckpointPosition,
) -> None:
    recovered = replace(GENESIS, generation=2)

    check_resume(recovered, checkpoint, records_exist=True, seeded=2)
    for other in (None, 1, 3):
        with pytest.raises(
            CheckpointMismatchError, match="lacks the recovered state of generation 2"
        ):
            check_resume(recovered, checkpoint, records_exist=True, seeded=other)


def test_a_checkpoint_of_the_generation_before_is_refused() -> None:
    recovered = replace(GENESIS, generation=2, offsets=FIRST)

    with pytest.raises(CheckpointMismatchError, match="earlier generation"):
        check_resume(recovered, at(BATCH_0, committed=True), records_exist=True, seeded=2)


def test_a_batch_that_starts_at_the_progress_record_is_published() -> None:
    assert check_batch(GENESIS, BATCH_0) is Action.PUBLISH
    assert check_batch(PUBLISHED_0, BATCH_1) is Action.PUBLISH


def test_a_batch_that_ends_at_the_progress_record_is_skipped() -> None:
    assert check_batch(PUBLISHED_0, BATCH_0) is Action.SKIP


def test_batches_without_input_are_distinguished_by_their_ids() -> None:
    empty = SourceBatch(query_id="q", batch_id=1, start=FIRST, end=FIRST)
    published = replace(PUBLISHED_0, batch_id=1)

    assert check_batch(PUBLISHED_0, empty) is Action.PUBLISH
    assert check_batch(published, empty) is Action.SKIP
    check_resume(PUBLISHED_0, at(empty), records_exist=True)
    check_resume(published, at(empty), records_exist=True)


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
    both = (
        re.escape(str(batch))
        + ".*"
        + re.escape(offsets_text(progress.offsets))
        + ".*verdict recover"
    )

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
