"""G-01: nothing is published that a state decided which is not the progress record's."""

from dataclasses import replace
from typing import cast

import pytest

from tests.application import APPLICATION
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.streaming.exactly_once.batch import OutputRecord, SourceBatch, digest
from verdict.streaming.exactly_once.errors import ForeignStateError, ReplayDiffersError
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.streaming.exactly_once.fencing import genesis
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import decider_query, lake_query
from verdict.streaming.exactly_once.state_moves import (
    EMPTY,
    StateMove,
    check_states,
    states_after,
)
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord, ShardState
from verdict.wire.topics import Topics

pytestmark = pytest.mark.proves("C-17")

PROGRESS = ProgressRecord(
    query="decider",
    owner="me",
    generation=1,
    query_id="q",
    batch_id=4,
    digest=b"",
    offsets={},
    shards=2,
    handler_version="1",
    shard_states=[ShardState(7, b"a" * 32), ShardState(9, b"b" * 32)],
)
NEXT = ShardState(10, b"c" * 32)


def batch(*moves: StateMove) -> SourceBatch:
    return SourceBatch(query_id="q", batch_id=5, start={}, end={}, moves=moves)


def test_a_batch_that_begins_where_the_progress_record_ends_moves_its_shards_and_no_other() -> None:
    moving = batch(StateMove(1, PROGRESS.shard_states[1], NEXT))

    check_states(PROGRESS, moving, is_replay=False)

    assert states_after(PROGRESS, moving) == [PROGRESS.shard_states[0], NEXT]
    assert states_after(PROGRESS, batch()) == PROGRESS.shard_states


@pytest.mark.proves("F-17")
@pytest.mark.parametrize(
    "found",
    [ShardState(0, bytes(32)), ShardState(8, b"b" * 32), ShardState(9, b"x" * 32)],
    ids=["lost", "older", "another's"],
)
def test_a_state_that_is_not_the_progress_records_is_refused_with_both_named(
    found: ShardState,
) -> None:
    moving = batch(StateMove(0, PROGRESS.shard_states[0], NEXT), StateMove(1, found, NEXT))

    with pytest.raises(ForeignStateError) as refused:
        check_states(PROGRESS, moving, is_replay=False)

    said = str(refused.value)
    assert f"shard 1 is at entry {found.sequence} with the digest {found.digest.hex()[:16]}" in said
    assert "decider says entry 9 with the digest 6262626262626262" in said
    assert "`verdict recover`" in said


def test_a_replay_of_what_is_published_must_end_where_the_progress_record_does() -> None:
    before = ShardState(6, b"z" * 32)
    right = batch(StateMove(0, before, PROGRESS.shard_states[0]))

    check_states(PROGRESS, right, is_replay=True)
    with pytest.raises(
        ForeignStateError, match="comes by the replay of this batch to entry 10"
    ) as refused:
        check_states(PROGRESS, batch(StateMove(0, before, NEXT)), is_replay=True)
    assert "deduplication_window_hours was changed since: then start once with" in str(
        refused.value
    )


@pytest.mark.parametrize("previous", [None, PROGRESS], ids=["of all", "of a generation"])
def test_a_first_progress_record_knows_that_each_shard_begins_empty(
    previous: ProgressRecord | None,
) -> None:
    first = genesis(decider_query(Topics(APPLICATION), 2), previous, {}, 3)
    moving = batch(StateMove(2, EMPTY, NEXT))

    assert first.shard_states == [ShardState(0, bytes(32))] * 3
    check_states(first, moving, is_replay=False)
    with pytest.raises(ForeignStateError, match=r"shard 1 is at entry 10 .* says entry 0 with"):
        check_states(first, batch(StateMove(1, NEXT, NEXT)), is_replay=False)
    assert states_after(first, moving) == [EMPTY, EMPTY, NEXT]
    assert genesis(lake_query(Topics(APPLICATION)), None, {}, 1).shard_states == []


def replayed(published: ProgressRecord, move: StateMove, *outputs: OutputRecord) -> None:
    """Hand the batch over again that `published` tells of."""
    kafka = KafkaConfig(settings={"bootstrap.servers": "localhost:1"})
    idle = cast(Transactions, object())  # a replay writes nothing
    publisher = Publisher(
        decider_query(Topics(APPLICATION), 2), kafka, idle, published, ignore_step
    )
    replay = SourceBatch(query_id="q", batch_id=published.batch_id, start={}, end={}, moves=(move,))
    publisher.publish(replay, outputs)


@pytest.mark.parametrize("rules", ["2", "1"])
def test_a_replay_by_other_rules_is_reported_as_such_though_its_states_differ(rules: str) -> None:
    """The state of other rules is another one and not lost; that of the same rules was lost."""
    output = OutputRecord("order.events", b"order-1", b"{}")
    published = replace(PROGRESS, digest=digest([output]))
    move = StateMove(0, ShardState(6, b"z" * 32), NEXT)

    advice = "start once with the (former one|version that published it)"
    with pytest.raises(ForeignStateError if rules == "1" else ReplayDiffersError, match=advice):
        replayed(published, move, *([output] if rules == "1" else []))
