"""Who waits for the live query's next batch, and who goes on by itself."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.projection.event_log import TOPIC
from tests.projection.read_side import ReadSide
from verdict.read_side.apply.applier import Applier
from verdict.read_side.live.live_head import Group, LiveHead
from verdict.wire.partitions import OffsetRange, TopicPartition

PLACE = TopicPartition(TOPIC, 0)
NEAR = 5
SOON_S = 30


@pytest.fixture
def applier(tmp_path: Path) -> Iterator[Applier]:
    """Return one that is at the beginning."""
    read_side = ReadSide(f"sqlite:///{tmp_path / 'read.db'}")
    yield read_side.applier("us_holder")
    read_side.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def taken_by_the_next(front: LiveHead, joining: Future[bool], group: Group) -> bool:
    """Begin batches of one record until one takes the group; return what `join` says."""
    start = front.offsets[PLACE]
    while not joining.done():
        taken = front.begin_batch({PLACE: OffsetRange(start, start)})
        front.end_batch()
        if taken:
            assert taken == [*group]
    return joining.result(SOON_S)


def test_who_is_near_is_taken_along_by_the_next_batch(
    applier: Applier, threads: ThreadPoolExecutor
) -> None:
    front = LiveHead({PLACE: NEAR}, NEAR, pause_s=SOON_S)

    assert taken_by_the_next(front, threads.submit(front.join, [applier]), [applier])


def test_who_is_level_waits_as_long_as_nothing_comes(
    applier: Applier, threads: ThreadPoolExecutor
) -> None:
    front = LiveHead({PLACE: 0}, NEAR, pause_s=-1)  # no patience at all with others

    assert taken_by_the_next(front, threads.submit(front.join, [applier]), [applier])


def test_who_is_not_level_goes_on_when_nothing_comes(applier: Applier) -> None:
    front = LiveHead({PLACE: 1}, NEAR, pause_s=-1)

    assert not front.join([applier])
    assert front.begin_batch({PLACE: OffsetRange(1, 2)}) == []


def test_who_is_not_level_waits_while_a_batch_is_applied(
    applier: Applier, threads: ThreadPoolExecutor
) -> None:
    front = LiveHead({PLACE: 0}, NEAR, pause_s=-1)
    front.begin_batch({PLACE: OffsetRange(0, 1)})
    joining = threads.submit(front.join, [applier])

    while not (taken := front.begin_batch({PLACE: OffsetRange(1, 2)})):
        assert not joining.done()

    assert taken == [applier]
    assert joining.result(SOON_S)


def test_who_is_far_behind_goes_on_even_while_a_batch_is_applied(applier: Applier) -> None:
    front = LiveHead({PLACE: 0}, NEAR)
    front.begin_batch({PLACE: OffsetRange(0, NEAR + 1)})

    assert not front.join([applier])


def test_nobody_joins_a_query_that_ends(applier: Applier, threads: ThreadPoolExecutor) -> None:
    front = LiveHead({PLACE: 0}, NEAR)
    joining = threads.submit(front.join, [applier])

    front.close()

    assert not joining.result(SOON_S)
    assert not front.join([applier])
    assert front.begin_batch({PLACE: OffsetRange(0, 1)}) == []
