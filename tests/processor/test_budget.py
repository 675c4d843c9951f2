"""What a command may take: function calls and bytes, which no neighbour on the machine changes.

Time is for `make bench`. A budget is what was counted on Python 3.11 and a tenth; who needs more
shows by a benchmark that it is worth it, and raises it.
"""

import sys
import tracemalloc
from types import FrameType
from typing import Any

import pytest

from benchmarks.workload import ISSUED_AT, commands
from tests.application import APPLICATION
from verdict.model.source import Source
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.command_record import CommandRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState

COMMANDS = 500
CALLS = 170
HELD_BYTES = 1400
OUTPUT_BYTES = 1040


SENT = [
    CommandRecord(Source("order.commands", 0, at), ISSUED_AT, one.key, one.value, 200, None)
    for at, one in enumerate(commands(COMMANDS, COMMANDS // 2, False, 1))
]


def decide() -> list[OutputRecord]:
    """Decide so many commands, two for each order."""
    return list(ShardBatch(Topics(APPLICATION), Limits(), DictState()).decide(SENT))


@pytest.fixture(autouse=True)
def warm() -> None:
    """Use all code once."""
    decide()


def test_a_command_takes_no_more_calls_than_its_budget() -> None:
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        decide()
    finally:
        sys.setprofile(before)

    assert calls / COMMANDS <= CALLS


def _held() -> int:
    tracemalloc.start()
    try:
        outputs = decide()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outputs
    return held


def test_a_command_leaves_no_more_bytes_than_its_budget() -> None:
    # the least of three: threads that other tests left running allocate, too
    assert min(_held() for _ in range(3)) / COMMANDS <= HELD_BYTES


def test_what_a_command_puts_out_is_within_its_budget() -> None:
    sizes = [len(one.value) + len(one.headers) + len(one.key or b"") for one in decide()]

    assert sum(sizes) / COMMANDS <= OUTPUT_BYTES
