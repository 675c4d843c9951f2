"""Where the time of one batch of the decider goes, as a picture, while the projections follow.

Spark says how long each of its stages took, and the publisher when it reached each of its steps;
both by the clock on the wall. What is shown is the median of the batches behind the warming ones.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.latency import schedule, send
from benchmarks.measurement import query_named, settings_for
from benchmarks.results import Result
from verdict.service.running import ServiceProcess
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.streaming.exactly_once.query import DECIDER

# in their order; the stage of Spark that is cut by our steps stands for the rest of itself
BEFORE = ("latestOffset", "walCommit", "getBatch", "queryPlanning")
PUBLISHING = {
    Failpoint.OUTPUT_COMPUTED: "plan, shuffle, decide",
    Failpoint.BEFORE_COMMIT: "outputs to Kafka",
    Failpoint.COMMITTED: "commit of outputs",
}
STATE, AFTER, REST = "end of the job", ("commitBatch", "commitOffsets"), "rest of the trigger"
LONGEST = 24  # of a bar, in characters


class Batch(NamedTuple):
    """One batch: when it began, in seconds of Unix time, and Spark's stages in milliseconds."""

    began: float
    stages: Mapping[str, int]


def timeline(servers: str, folder: Path, seconds: float) -> Iterator[Result]:
    """Yield the parts of a batch at 500 commands/s, and of one of a lonely command."""
    for rate in (500, 2):
        settings = settings_for(servers, folder, f"timeline-{rate}")
        about = {"what": "timeline", "commands_per_s": rate}
        yield from _drawn(about, _measured(servers, settings, schedule(rate, seconds)))


def _measured(servers: str, settings: Settings, due: list[float]) -> list[dict[str, float]]:
    moments: list[tuple[float, Failpoint]] = []
    with ServiceProcess(settings, lambda step: moments.append((time.time(), step))):
        send(servers, settings.topics.commands("order"), due)
        batches = [
            Batch(datetime.fromisoformat(one.timestamp).timestamp(), one.durationMs)
            for one in query_named(SparkSession.active(), DECIDER).recentProgress
            if one.numInputRows
        ]
    return [_parts(batch, moments) for batch in batches[len(batches) // 2 :]]


def _parts(batch: Batch, moments: Sequence[tuple[float, Failpoint]]) -> dict[str, float]:
    """Return the milliseconds of each part of a batch, in the order in which they go."""
    whole = batch.stages["triggerExecution"]
    parts: dict[str, float] = {stage: batch.stages.get(stage, 0) for stage in BEFORE}
    begun = sum(parts.values())
    ended = begun + batch.stages["addBatch"]
    for at, step in moments:
        since = (at - batch.began) * 1000
        if step in PUBLISHING and since <= whole and begun <= since:
            parts[PUBLISHING[step]] = since - begun
            begun = since
    parts[STATE] = max(0.0, ended - begun)
    parts |= {stage: batch.stages.get(stage, 0) for stage in AFTER}
    parts[REST] = max(0.0, whole - sum(parts.values()))
    return parts


def _drawn(about: Result, parts: Sequence[Mapping[str, float]]) -> Iterator[Result]:
    medians = {part: median(one.get(part, 0.0) for one in parts) for part in parts[-1]}
    begun, scale = 0.0, LONGEST / sum(medians.values())
    for part, ms in medians.items():
        left, right = round(begun * scale), round((begun + ms) * scale)
        bar = " " * left + ("█" * (right - left) or "▏")
        yield about | {"part": part, "ms": round(ms, 1), "when": bar}
        begun += ms
