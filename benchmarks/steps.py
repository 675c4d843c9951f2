"""The processor time of each step of one accepted command in the operator, in a loop of its own."""

import gc
import timeit
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from benchmarks.results import Result
from benchmarks.workload import ISSUED_AT, command
from tests.application import APPLICATION, CATALOG
from verdict.model.source import Source
from verdict.wire.command_record import CommandRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits, handle
from verdict.write_side.decide.event_encoding import encode_events
from verdict.write_side.decide.parse import ReceivedCommand, parse_command
from verdict.write_side.decide.respond import accepted_response
from verdict.write_side.decide.snapshot import (
    NEVER_EXISTED,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
)
from verdict.write_side.processor.outputs import OutputBatch

REPEATS, CALLS = 600, 60  # so short that a neighbour spares some of them


def steps() -> Iterator[Result]:
    """Yield the time of each step of one accepted command in the operator, in a loop of its own.

    The best of `REPEATS`: in a large batch, with its objects in memory, each takes longer.
    """
    for name, step in _steps().items():
        yield {"what": "operator step", "step": name, "us": round(_micros(step), 2)}


def _micros(step: Callable[[], object]) -> float:
    gc.disable()  # as in a batch
    try:
        return min(timeit.repeat(step, number=CALLS, repeat=REPEATS)) / CALLS * 1e6
    finally:
        gc.enable()


def _steps() -> dict[str, Callable[[], object]]:
    context, limits = CATALOG["order"], Limits()
    decider = context.aggregate
    placed = handle(context, NEVER_EXISTED, _received(0), None, limits)
    assert placed.stored is not None
    stored: bytes = placed.stored
    snapshot: Snapshot[Any] = decode_snapshot(context, stored)
    modify = _received(1)
    verdict = handle(context, snapshot, modify, None, limits)
    events = decider.decide(snapshot.state, modify.payload)
    outputs = OutputBatch(Topics(APPLICATION))
    return {
        "read the command": lambda: parse_command(CATALOG["order"], modify.record),
        "read the snapshot": lambda: decode_snapshot(context, stored),
        "the rules: decide": lambda: decider.decide(snapshot.state, modify.payload),
        "the rules: evolve": lambda: decider.evolve(snapshot.state, events[0]),
        "number, chain and write the events": lambda: encode_events(
            context, snapshot, modify, events
        ),
        "write the snapshot": lambda: encode_snapshot(context, verdict.snapshot),
        "write the response": lambda: accepted_response(
            decider, snapshot, modify, verdict.recorded, verdict.snapshot
        ),
        "headers and topics": lambda: list(outputs.of_verdict(verdict, modify)),
        "all checks and rules together": lambda: handle(context, snapshot, modify, None, limits),
    }


def _received(version: int) -> ReceivedCommand:
    sent = command("order-1", version, 10 + version, Random(version))
    source, size = Source("order.commands", 0, version), len(sent.value or b"")
    found = parse_command(
        CATALOG["order"], CommandRecord(source, ISSUED_AT, sent.key, sent.value, size, None)
    )
    assert isinstance(found, ReceivedCommand)
    return found
