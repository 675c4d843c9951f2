"""A sample of when commands arrived, of any number of them."""

from array import array

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from verdict.model.source import Source
from verdict.wire.command_record import CommandRecord
from verdict.write_side.processor.latency import MOST, BatchArrival, LatencySampler, arrivals_of

PLACE = Source("order.commands", 0, 0)


def told(times: list[int]) -> list[BatchArrival]:
    """Return what the driver is told of commands that arrived then."""
    sampling = LatencySampler()
    records = [CommandRecord(PLACE, at, None, None, 0, None) for at in times]
    assert [*sampling.watch(records)] == records
    return [*arrivals_of(pa.table({"arrived": pa.array([sampling.packed(), None], pa.binary())}))]


@given(st.lists(st.integers(0, 2**60), max_size=MOST))
def test_few_are_reported_one_by_one(times: list[int]) -> None:
    assert told(times) == ([BatchArrival(len(times), array("q", times))] if times else [])


@given(st.integers(MOST + 1, 20 * MOST))
def test_of_many_every_nth_is_reported(count: int) -> None:
    [arrived] = told([*range(count)])

    assert arrived.commands == count
    assert MOST // 2 <= len(arrived.millis) <= MOST
    strides = {later - at for at, later in zip(arrived.millis, arrived.millis[1:], strict=False)}
    assert arrived.millis[0] == 0
    assert len(strides) == 1
