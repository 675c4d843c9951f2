"""What `verdict recover` takes to fold all events and responses into a new state of the decider.

It runs as from the command line: with a JVM of its own, which has compiled nothing yet.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.cpu import cpu_by_process
from benchmarks.measurement import cpu_per_record, fill_orders, run_decider, settings_for
from benchmarks.results import Result
from benchmarks.workload import AGGREGATES, SEED, commands
from verdict.adapters.spark.session import end_jvm
from verdict.cli.recover import recover_alone
from verdict.write_side.recovery.recovery import RecoveryStep


def recovery(servers: str, folder: Path, count: int, shards: int) -> Iterator[Result]:
    """Decide `count` commands, then yield what it takes to recover from their results."""
    settings = settings_for(servers, folder, "recover", shards=shards)
    fill_orders(settings, commands(count, AGGREGATES, False, SEED))
    run_decider(settings, count)
    end_jvm()
    passed: dict[RecoveryStep, float] = {}
    used: Mapping[str, float] = {}

    def note_step(step: RecoveryStep) -> None:
        nonlocal used
        passed[step], used = time.perf_counter(), cpu_by_process()

    began, before = time.perf_counter(), cpu_by_process()
    recovered = recover_alone(settings, None, note_step)
    records = recovered.events + count  # every command has a response
    yield {
        "what": "recover",
        "shards": shards,
        "events": recovered.events,
        "outcomes": count,
        "aggregates": recovered.aggregates,
        "remembered": recovered.remembered,
        "with_start_s": round(passed[RecoveryStep.COMMITTED] - began, 1),
        "seconds": round(recovered.seconds, 1),
        "fold_s": round(passed[RecoveryStep.FOLDED] - passed[RecoveryStep.FENCED], 1),
        "per_s": round(records / recovered.seconds),
        "s_per_million": round(recovered.seconds / records * 1e6, 1),
        "cpu_us": cpu_per_record(before, used, records),
    }
