"""The operator in Spark's Python worker, whose memory is capped, on a seeded state."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from commands.order import ModifyOrder, PlaceOrder
from tests.application import APPLICATION, encode_command
from tests.bench.state_entries import NOW
from tests.operator.capped import bites, cap
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.source import Source
from verdict.wire.topics import Topics
from verdict.write_side.decide.handle import Limits
from verdict.write_side.decide.parse import CommandRecord
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.processor.processor import CommandProcessor
from verdict.write_side.state.shard_state import DictState, StateEntry, outcome_key, snapshot_key

CAP_BYTES = 384 * 2**20  # Python, pandas and Arrow take 220 of them before the first row
ROWS_AT_A_TIME = 20_000  # about 8 MiB, as `verdict.write_side.recovery.folding` writes them
COLUMNS = {"key": pa.binary(), "entry": pa.binary(), "keep_ms": pa.int64()}
# as long as may be: a large state of fewer outcomes
FLOW, ORDER, COMMAND = "f" * 256, "o" * 100, "c" * 100


class CappedProcessor(CommandProcessor):
    """Decides in a process that may have `CAP_BYTES` of anonymous memory."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Set the limit before anything is read."""
        cap(CAP_BYTES)
        assert bites(CAP_BYTES)
        super().init(handle)


class Asked(NamedTuple):
    """A command as it lies on Kafka."""

    key: bytes
    value: bytes


def name_of(number: int) -> str:
    """Return the id of an aggregate; all have the same length."""
    return f"{ORDER}-{number:09}"


def asked_by(what: str, number: int) -> str:
    """Return the id of the command that asks this of an aggregate."""
    return f"{COMMAND}-{what}-{number:09}"


def placed(number: int) -> Asked:
    """Return the command that has placed an order, the same whenever it is asked for."""
    payload = PlaceOrder(
        client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=12_345
    )
    return _asked(number, asked_by("place", number), 0, payload)


def modified(number: int) -> Asked:
    """Return a command that expects the order as it was placed."""
    return _asked(number, asked_by("modify", number), 1, ModifyOrder(quantity=5))


def _asked(number: int, command_id: str, version: int, payload: Command) -> Asked:
    envelope = CommandEnvelope(
        command_id=command_id,
        aggregate_id=name_of(number),
        expected_version=version,
        correlation_id=FLOW,
        payload={},
    )
    return Asked(name_of(number).encode(), encode_command("order", envelope, payload))


def seed(file: Path, wanted: int) -> int:
    """Write the seed of placed orders until it has `wanted` bytes of entries; count the orders."""
    snapshot, outcome = _first()
    count = wanted // (len(snapshot.value) + len(outcome.value)) + 1
    rows = _rows(count, snapshot, outcome)
    with pq.ParquetWriter(file, pa.schema(COLUMNS)) as writer:
        while some := list(islice(rows, ROWS_AT_A_TIME)):
            columns = map(list, zip(*some, strict=True))
            writer.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True))))
    return count


def _rows(
    count: int, snapshot: StateEntry, outcome: StateEntry
) -> Iterator[tuple[bytes, bytes, int]]:
    for number in range(count):
        name, command_id = name_of(number), asked_by("place", number)
        yield snapshot_key("order", name), *snapshot
        value = outcome.value.replace(name_of(0).encode(), name.encode())
        value = value.replace(asked_by("place", 0).encode(), command_id.encode())
        yield outcome_key("order", name, command_id), value, outcome.keep_ms


def _first() -> tuple[StateEntry, StateEntry]:
    """Return snapshot and outcome of the first order."""
    state, asked = DictState(), placed(0)
    source = Source("order.commands", 0, 0)
    record = CommandRecord(source, NOW, asked.key, asked.value, len(asked.value), None)
    batch = ShardBatch(Topics(APPLICATION), Limits(), state)
    assert len(list(batch.decide([record]))) == 2
    batch.commit()
    snapshot = snapshot_key("order", name_of(0))
    [outcome] = state.entries.keys() - {snapshot}
    return state.entries[snapshot], state.entries[outcome]
