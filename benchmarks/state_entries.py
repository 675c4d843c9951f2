"""Real entries of a shard's state, and a state that is full of them."""

from collections.abc import Iterator
from itertools import groupby
from random import Random
from typing import NamedTuple

from benchmarks.workload import ACTOR, ISSUED_AT, TRACE, Sent, command
from commands.order import DeleteOrder, ModifyOrder
from tests.application import APPLICATION, encode_command
from tests.processor.state_on_disk import StateOnDisk
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.source import Source
from verdict.wire.command_record import CommandRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.entries import HASH_BYTES, kept, key_hash, pack
from verdict.write_side.state.log_head import PAGE_BYTES, LogHead, page_number
from verdict.write_side.state.log_structured import StoredState
from verdict.write_side.state.shard_state import DictState, StateEntry, outcome_key, snapshot_key

ORDER = "order-000000000"
NOW = 1_795_000_000_000  # Kafka's time in ms


class Samples(NamedTuple):
    """Entries of one order: its snapshot and an outcome, while it is there and when deleted."""

    snapshot: StateEntry
    outcome: StateEntry
    deleted_snapshot: StateEntry
    deleted_outcome: StateEntry


def sampled() -> Samples:
    """Return what a batch keeps of an order of the workload that is modified, then deleted."""
    state = DictState()
    _kept_of(state, command(ORDER, 0, 0, Random(0)))
    modified = _kept_of(state, _sent(1, ModifyOrder(quantity=7)))
    return Samples(*modified, *_kept_of(state, _sent(2, DeleteOrder())))


def _kept_of(state: DictState, sent: Sent) -> tuple[StateEntry, StateEntry]:
    source = Source("order.commands", 0, len(state.entries))
    record = CommandRecord(source, NOW, sent.key, sent.value, len(sent.value or b""), None)
    batch = ShardBatch(Topics(APPLICATION), Limits(), state)
    assert [output.topic for output in batch.decide([record])][-1] == "order.responses"
    batch.commit()
    outcome = outcome_key("order", ORDER, sent.command_id)
    return state.entries[snapshot_key("order", ORDER)], state.entries[outcome]


def _sent(version: int, asked: Command) -> Sent:
    command_id = f"00000000-0000-4000-8000-{version:012}"
    envelope = CommandEnvelope(
        command_id=command_id, aggregate_id=ORDER, expected_version=version,
        actor=ACTOR, traceparent=TRACE, issued_at=ISSUED_AT, payload={},
    )  # fmt: skip
    return Sent(command_id, ORDER.encode(), encode_command("order", envelope, asked))


def snapshot_at(number: int) -> bytes:
    """Return the key of the snapshot of order `number`."""
    return snapshot_key("order", f"order-{number:09d}")


def outcome_at(number: int, asked: int = 0) -> bytes:
    """Return the key of the outcome of command `asked` of order `number`."""
    command_id = f"00000000-0000-4000-{asked:04}-{number:012}"
    return outcome_key("order", f"order-{number:09d}", command_id)


def fill(store: StateOnDisk, size: int, samples: Samples) -> None:
    """Write a state of `size` orders, each with a snapshot and a remembered outcome.

    It is as rounds of folding leave it: everything in pages, no log entry kept.
    """
    kinds = kept(*samples.snapshot), kept(*samples.outcome)
    level = max(size * sum(map(len, kinds)) // PAGE_BYTES, 1).bit_length()
    stored = StoredState(store)
    stored.set_head(LogHead(level=level))
    for page, hashes in groupby(_hashes(size), lambda found: _page_of(found, level)):
        packed = pack((found[:HASH_BYTES], kinds[found[-1]]) for found in hashes)
        stored.set_page(page_number(level, page), packed)


def _hashes(size: int) -> Iterator[bytes]:
    """Yield the hash of every key and one byte for its kind, sorted."""
    parts: list[list[bytes]] = [[] for _ in range(256)]  # sorted one by one, for memory's sake
    for number in range(size):
        for kind, key in enumerate((snapshot_at(number), outcome_at(number))):
            found = key_hash(key)
            parts[found[0]].append(found + bytes((kind,)))
    for part in parts:
        part.sort()
        yield from part
        part.clear()


def _page_of(found: bytes, level: int) -> int:
    return int.from_bytes(found[:4], "big") >> 32 - level
