"""G-06: what is wrong is said of whom it is wrong."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from verdict.adapters.kafka.topic_drift import MISSING, Difference, added_partitions
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.operations.status.problems import not_running, problems_of, topic_problems
from verdict.operations.status.status import (
    BlockedAggregateStatus,
    CommandsStatus,
    DeadLettersStatus,
    OpenTransaction,
    PolicyRejections,
    ProcessorStatus,
    ProjectionStatus,
    QuarantinedAggregates,
    ScatteredKeys,
    StatusReport,
    total,
)
from verdict.settings.discovery import AnnouncedService, announce, starting_on

QUIET = StatusReport(None, Path("/data"))


def projection(
    name: str,
    version: int = 1,
    state: str = "live",
    lag: int | None = 0,
    stopped_by: str | None = None,
    held: tuple[BlockedAggregateStatus, ...] = (),
) -> ProjectionStatus:
    return ProjectionStatus(name, version, state, lag, stopped_by, held, ())


def held(error: str | None) -> BlockedAggregateStatus:
    return BlockedAggregateStatus("order", "o-1", 3, 5, "2026-11-21T09:00:00.000Z", error)


@pytest.mark.proves("U-05")
def test_that_nothing_runs_or_that_it_starts_is_said(tmp_path: Path) -> None:
    assert starting_on(tmp_path) is None
    [down] = not_running(StatusReport(None, tmp_path))
    with DataDirectoryLock(tmp_path):
        [starting] = not_running(StatusReport(None, tmp_path, starting=starting_on(tmp_path)))
        service = AnnouncedService(os.getpid(), "localhost:9092", None)
        announce(tmp_path, service)
        assert starting_on(tmp_path) is None, "it runs"
    assert starting_on(tmp_path) is None

    assert down == f"no verdict runs on {tmp_path}: start `verdict up`"
    assert starting.startswith(f"pid {os.getpid()} is starting on {tmp_path}, or recovers")
    assert [*not_running(StatusReport(service, tmp_path, processes=(service,)))] == []


@pytest.mark.proves("U-05")
def test_where_a_sender_keeps_others_waiting_is_named() -> None:
    kept = OpenTransaction("order.commands", 2, 48, 51)
    [said] = problems_of(replace(QUIET, open_transactions=(kept,)))

    assert (
        "stays open on order.commands:2 at offset 48: the 3 offsets from there on are not read"
        in said
    )
    assert "describe-producers --topic order.commands --partition 2" in said


@pytest.mark.proves("G-01")
def test_a_component_that_has_read_further_than_kafka_goes_is_named() -> None:
    found = replace(
        QUIET,
        commands=tuple(CommandsStatus("c", 0, 5, 5 + lag, lag) for lag in (3, -2)),
        processors=(ProcessorStatus("lake", 1, "me", -1), ProcessorStatus("policies", 1, "me", 0)),
        projections=(projection("outcome", lag=-7), projection("us_holder", 2, lag=None)),
        dead_letters=DeadLettersStatus(0, 0, -4),
    )

    said = [problem.split(" offsets")[0] for problem in problems_of(found)]

    assert said == [
        "the decider has read 2",
        "the lake has read 1",
        "projection outcome v1 has read 7",
        "the intake of dead letters has read 4",
    ]
    assert list(problems_of(QUIET)) == []


def test_a_stopped_component_is_named_with_the_reason() -> None:
    found = replace(
        QUIET,
        projections=(
            projection("a", stopped_by="no disk"),
            projection("b", held=(held(None), held("odd"))),
            projection("c", 2, held=(held("odd"),)),
            projection("d", 3, state="candidate", stopped_by="it is not read"),
        ),
        quarantines=QuarantinedAggregates(3, "order", "o-4", 2, "a gap"),
        scattered=ScatteredKeys(2, "order", "o-2", 3),
        dead_letters=DeadLettersStatus(5, 1, 0),
    )

    assert [problem.partition(";")[0] for problem in problems_of(found)] == [
        "projection a v1 is stopped: no disk",
        "projection b v1 blocks 2 aggregates, the first: order 'o-1' needs version 3, which is "
        "missing",
        "projection c v2 blocks 1 aggregates, the first: order 'o-1' needs version 3, which cannot "
        "be applied: odd",
        "3 aggregates are quarantined, the first: order 'o-4', damaged from version 2 on: a gap",
        "2 aggregates of the newest 5,000 commands have commands on several partitions, the first: "
        "order 'o-2' on 3",
        "1 dead letters are parked, and are not tried again: see why with "
        "`verdict dead-letters list`",
    ]


def test_a_partition_that_is_ahead_is_not_made_up_for_by_others() -> None:
    assert total([5, -2, 1]) == -2
    assert total([5, 0, 1]) == 6
    assert total([5, None, -1]) is None
    assert total([]) == 0


@pytest.mark.proves("X-01")
def test_rejected_commands_that_a_policy_does_not_expect_are_a_problem() -> None:
    found = replace(
        QUIET,
        policy_rejections=(
            PolicyRejections("ship", "BUSINESS_RULE", "OVERFILL", 7, 2, "c-9"),
            PolicyRejections("ship", "DELETED", None, 100_000, 0, None),
        ),
    )

    [said] = problems_of(found)

    assert said.startswith(
        "unexpected rejections of commands of the policy ship in the last 24 hours: 2 with "
        "BUSINESS_RULE OVERFILL; "
    )
    assert "`verdict explain c-9`" in said


def test_a_topic_that_differs_is_named_unless_it_is_only_missing() -> None:
    short = Difference("b.events", "retention.ms", "1", "-1")
    missing = Difference("c.events", MISSING, "missing", "there")

    added, fatal = topic_problems([*added_partitions("a.events", 6, 4), short, missing])

    assert added.startswith("a.events: partitions is 6, must be 4 (somebody added partitions")
    assert fatal.startswith("b.events: retention.ms is 1, must be -1: Kafka may drop or refuse")
