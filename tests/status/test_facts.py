"""What programs read of `verdict status --json`: names, order and values stay as they are."""

from pathlib import Path

from verdict.operations.status.status import (
    BlockedAggregateStatus,
    CommandsStatus,
    DeadLettersStatus,
    DeciderStatus,
    PolicyRejections,
    PositionStatus,
    Problem,
    ProcessorStatus,
    ProjectionStatus,
    QuarantinedAggregate,
    QuarantinedAggregates,
    ScatteredAggregate,
    ScatteredKeys,
    StatusReport,
    as_json,
)
from verdict.settings.discovery import AnnouncedService, Latency, OverdueBatch
from verdict.wire.json_lines import json_line

FULL = StatusReport(
    service=AnnouncedService(
        7,
        "127.0.0.1:9092",
        "postgresql://ada:secret@db/v",
        stopped={"lake": "no disk"},
        overdue={"decider": OverdueBatch(3, 1.5)},
        roles=("decider", "lake"),
        latency=Latency(1, 4, 20, 30, 31),
        latencies=(Latency(1, 4, 20, 30, 31),),
    ),
    data_dir=Path("/data"),
    decider=DeciderStatus("me", 2, 9, 4, "order=1"),
    commands=(CommandsStatus("order.commands", 0, 5, 6, 1),),
    processors=(ProcessorStatus("lake", 1, "me", None),),
    projections=(
        ProjectionStatus(
            projection="q",
            version=1,
            state="live",
            lag=1,
            stopped_by="why",
            held=(BlockedAggregateStatus("order", "o-1", 3, 5, "2026-11-21T09:00:00.000Z", None),),
            positions=(PositionStatus("order.events", 0, 4, 1),),
        ),
    ),
    quarantines=QuarantinedAggregates(1, QuarantinedAggregate("order", "o-4", 2, "a gap")),
    scattered=ScatteredKeys(1, ScatteredAggregate("order", "o-2", 2)),
    dead_letters=DeadLettersStatus(1, 2, 0),
    problems=(Problem("the lake stopped: no disk"),),
    answered={"ACCEPTED": 3},
    refused={"OVERFILL": 1},
    policy_rejections=(PolicyRejections("ship", "BUSINESS_RULE", "OVERFILL", 3, 2, "c-9"),),
)


def test_all_that_is_known_as_json() -> None:
    assert json_line(as_json(FULL)).decode() == (
        '{"service": {"pid": 7, "bootstrap_servers": "127.0.0.1:9092", "page_url": null, '
        '"stopped": {"lake": "no disk"}, "overdue": {"decider": {"batch_id": 3, "since": 1.5}}, '
        '"kafka_away_since": null, "roles": ["decider", "lake"], "latency": {"at": 1, '
        '"commands": 4, "p50_ms": 20, "p99_ms": 30, "most_ms": 31}, "deployment": null}, '
        '"data_dir": "/data", '
        '"decider": {"owner": "me", "generation": 2, "batch_id": 9, "shards": 4, '
        '"handler_version": "order=1"}, '
        '"commands": [{"topic": "order.commands", "partition": 0, "decided": 5, "end": 6, '
        '"lag": 1, "open_at": null}], '
        '"processors": [{"processor": "lake", "generation": 1, "owner": "me", "lag": null, '
        '"reached": null}], '
        '"projections": [{"projection": "q", "version": 1, "state": "live", "lag": 1, '
        '"stopped_by": "why", "held": [{"aggregate_type": "order", "aggregate_id": "o-1", '
        '"version_needed": 3, "version_seen": 5, "found_at": "2026-11-21T09:00:00.000Z", '
        '"error": null}], "positions": [{"topic": "order.events", "partition": 0, '
        '"next_offset": 4, "lag": 1}]}], '
        '"quarantines": {"aggregates": 1, "first": {"aggregate_type": "order", '
        '"aggregate_id": "o-4", "version": 2, "error": "a gap"}}, '
        '"scattered": {"aggregates": 1, "first": {"aggregate_type": "order", '
        '"aggregate_id": "o-2", "partitions": 2}}, '
        '"dead_letters": {"waiting": 1, "parked": 2, "lag": 0}, '
        '"problems": ["the lake stopped: no disk"], "unreachable": false, "processes": [], '
        '"events": null, "answered": {"ACCEPTED": 3}, "refused": {"OVERFILL": 1}, '
        '"policy_rejections": [{"policy": "ship", "reason": "BUSINESS_RULE", '
        '"rule_code": "OVERFILL", "rejected": 3, "unexpected": 2, "newest": "c-9"}], '
        '"verified": null, "open_transactions": [], "starting": null}'
    )


def test_nothing_known_as_json() -> None:
    assert json_line(as_json(StatusReport(None, Path("/data")))).decode() == (
        '{"service": null, "data_dir": "/data", "decider": null, "commands": null, '
        '"processors": null, "projections": null, "quarantines": null, "scattered": null, '
        '"dead_letters": null, '
        '"problems": [], "unreachable": false, "processes": [], "events": null, '
        '"answered": null, "refused": null, "policy_rejections": null, "verified": null, '
        '"open_transactions": [], "starting": null}'
    )
