"""What programs read of `verdict status --json`."""

from pathlib import Path

from verdict.operations.status.status import (
    BlockedAggregateStatus,
    PositionStatus,
    Problem,
    ProjectionStatus,
    ScatteredKeys,
    StatusReport,
    as_json,
)
from verdict.settings.discovery import AnnouncedService, Latency, OverdueBatch
from verdict.wire.json_lines import json_line

LATENCY = Latency(1, 4, 20, 30, 31)


def test_all_that_is_known_is_json_except_what_is_secret_or_long() -> None:
    service = AnnouncedService(
        7, "localhost:9092", "postgresql://ada:secret@db/v", stopped={"lake": "no disk"},
        overdue={"decider": OverdueBatch(3, 1.5)}, latency=LATENCY, latencies=(LATENCY,),
    )  # fmt: skip
    held = BlockedAggregateStatus("order", "o-1", 3, 5, "2026-11-21T09:00:00.000Z", None)
    position = PositionStatus("order.events", 0, 4, 1)
    projection = ProjectionStatus("q", 1, "live", 1, "why", held=(held,), positions=(position,))
    found = StatusReport(
        service, Path("/data"), projections=(projection,), scattered=ScatteredKeys(0),
        problems=(Problem("the lake stopped: no disk"),), answered={"ACCEPTED": 3},
    )  # fmt: skip

    line = json_line(as_json(found)).decode()

    assert "secret" not in line
    assert "latencies" not in line
    assert '"overdue": {"decider": {"batch_id": 3, "since": 1.5}}' in line
    assert (
        '"projections": [{"projection": "q", "version": 1, "state": "live", "lag": 1, '
        '"stopped_by": "why", "held": [{"aggregate_type": "order", "aggregate_id": "o-1", '
        '"version_needed": 3, "version_seen": 5, "found_at": "2026-11-21T09:00:00.000Z", '
        '"error": null}], "positions": [{"topic": "order.events", "partition": 0, '
        '"next_offset": 4, "lag": 1}]}], "quarantines": null, '
        '"scattered": {"aggregates": 0, "aggregate_type": null, "aggregate_id": null, '
        '"partitions": null}, "dead_letters": null, "problems": ["the lake stopped: no disk"], '
    ) in line
