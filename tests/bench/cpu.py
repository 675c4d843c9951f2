"""Where the processor time goes: by process, and inside the operator by step."""

import gc
import os
import timeit
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import psutil

from tests.application import APPLICATION, CATALOG
from tests.bench.workload import ISSUED_AT, command
from verdict.model.source import Source
from verdict.wire.command_record import CommandRecord
from verdict.wire.topics import Topics
from verdict.write_side.decide.handle import Limits, handle
from verdict.write_side.decide.parse import ReceivedCommand, parse_command
from verdict.write_side.decide.record import encode_events
from verdict.write_side.decide.respond import accepted_response
from verdict.write_side.decide.snapshot import (
    NEVER_EXISTED,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
)
from verdict.write_side.processor.outputs import OutputBatch

REPEATS, CALLS = 600, 60  # so short that a neighbour spares some of them

KINDS = {
    "kafka.Kafka": "broker",
    "pyspark-shell": "Spark's JVM",
    "pyspark.daemon": "Python workers",
    "CoarseGrainedExecutorBackend": "executors",
    "org.apache.spark.deploy": "master and workers",
}


def cpu_by_process(pid: int | None = None) -> dict[str, float]:
    """Return the seconds of processor time that each kind of process of a service has used.

    Args:
        pid: Of the service; default: this process.

    Who has ended counts as the kind of who started it, as for the system: a worker as a worker.
    """
    used: dict[str, float] = {}
    _add(psutil.Process(pid or os.getpid()), "driver", used)
    return used


def _add(process: psutil.Process, parent: str, used: dict[str, float]) -> None:
    with suppress(psutil.NoSuchProcess):  # it has ended just now, and is its parent's next time
        kind, times = _kind(process, parent), process.cpu_times()
        ended = times.children_user + times.children_system
        used[kind] = used.get(kind, 0.0) + times.user + times.system + ended
        for child in process.children():
            _add(child, kind, used)


def _kind(process: psutil.Process, parent: str) -> str:
    if process.status() == psutil.STATUS_ZOMBIE:
        return parent
    line = " ".join(process.cmdline())
    return next((kind for mark, kind in KINDS.items() if mark in line), parent)


def operator_steps() -> Iterator[dict[str, Any]]:
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
