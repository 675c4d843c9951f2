"""What a batch may take of the read side: statements and calls, which no neighbour changes.

Time is for `make bench`. A budget of calls is what was counted on Python 3.11 and a tenth; who
needs more shows by a benchmark that it is worth it, and raises it.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from benchmarks.workload import ISSUED_AT, commands
from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from verdict.model.source import Source
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live.decoding import RecordDecoder
from verdict.wire.command_record import CommandRecord
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState

COMMANDS = 500
CALLS = {
    "decoding": 67,
    "event_archive": 34,
    "outcome": 11,
    "client_recent_order": 31,
    "client_overview": 54,
    "order_state": 35,
}
STATEMENTS = {
    "event_archive": 8,
    "outcome": 7,
    "client_recent_order": 9,
    "client_overview": 9,
    "order_state": 7,
}


class Records(NamedTuple):
    """What Kafka holds of one batch of the bench's commands, and where it ends."""

    laid: Sequence[tuple[str, int, int, bytes | None, bytes | None]]
    spans: dict[TopicPartition, OffsetRange]


def decided(batches: int) -> Iterator[Records]:
    """Decide so many batches, in which most orders are placed first and modified later."""
    state, ends = DictState(), dict[TopicPartition, int]()
    sent = [*commands(batches * COMMANDS, COMMANDS, False, 1)]
    for first in range(0, len(sent), COMMANDS):
        shard = ShardBatch(Topics(APPLICATION), Limits(), state)
        some = enumerate(sent[first : first + COMMANDS], first)
        records = [
            CommandRecord(Source("order.commands", 0, at), ISSUED_AT, one.key, one.value, 200, None)
            for at, one in some
        ]
        starts, laid = dict(ends), []
        for out in shard.decide(records):
            place = TopicPartition(out.topic, 0)
            if out.topic.endswith((".events", ".responses")):
                at = ends.get(place, 0)
                ends[place] = at + 1
                laid.append((*place, at, out.key, out.value))
        shard.commit()
        spans = {place: OffsetRange(starts.get(place, 0), end) for place, end in ends.items()}
        yield Records(laid, spans)


class Calls:
    """Counts calls of functions in a block."""

    def __enter__(self) -> "Calls":
        self.count = 0
        self._before = sys.getprofile()
        sys.setprofile(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _call(self, frame: FrameType, what: str, argument: Any) -> None:
        self.count += what in ("call", "c_call")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, int]]:
    """Return calls for each command and statements of the third batch, by step."""
    folder: Path = tmp_path_factory.mktemp("budget")
    read_side = ReadSide(f"sqlite:///{folder / 'read.db'}")
    appliers = {name: read_side.applier(name) for name in STATEMENTS}
    found: dict[str, tuple[float, int]] = {}
    decoding = RecordDecoder(Topics(APPLICATION))
    for records in decided(3):  # all code has been used by the last one
        with Calls() as calls:
            deliveries = [decoding.delivery(*record) for record in records.laid]
        found["decoding"] = calls.count / COMMANDS, 0
        batch = ProjectionBatch(deliveries, records.spans)
        for name, applier in appliers.items():
            with read_side.statements() as sent, Calls() as calls:
                applier.apply(batch)
            assert not applier.is_stopped
            found[name] = calls.count / COMMANDS, len(sent)
    read_side.close()
    return found


def over(found: Iterable[tuple[str, float]], budget: dict[str, int]) -> dict[str, float]:
    """Return what is over its budget."""
    return {name: count for name, count in found if count > budget.get(name, 0)}


def test_a_command_takes_no_more_calls_than_its_budget(
    counted: dict[str, tuple[float, int]],
) -> None:
    calls = ((name, calls) for name, (calls, _) in counted.items())

    assert over(calls, CALLS) == {}


def test_a_batch_takes_no_more_statements_than_its_budget(
    counted: dict[str, tuple[float, int]],
) -> None:
    statements = ((name, count) for name, (_, count) in counted.items())

    assert over(statements, STATEMENTS) == {}
