"""What a service says of itself, and what `verdict status` makes of it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from verdict.operations.status.problems import SILENT_S, kafka_away, service_problems
from verdict.service.heartbeat import Heartbeat
from verdict.settings.discovery import FILE, AnnouncedService, OverdueBatch, find_service, silence_s
from verdict.streaming.queries.batches_under_way import batch_under_way, longer_than

SERVICE = AnnouncedService(os.getpid(), "localhost:9092", "sqlite:///x")


@pytest.mark.proves("F-07")
def test_a_batch_is_overdue_from_its_limit_to_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = Heartbeat(tmp_path, SERVICE, slow_batch_s=0)
    with batch_under_way("decider", 7):
        heartbeat.beat(None, {})
        heartbeat.beat(None, {})
        found = find_service(tmp_path)
        assert found is not None
        assert found.overdue["decider"].batch_id == 7
    heartbeat.beat(None, {})

    assert find_service(tmp_path) == SERVICE
    first, last = (record.getMessage() for record in caplog.records)
    assert first.startswith("batch 7 of decider has been under way for 0 s and has not ended")
    assert last.startswith("batch 7 of decider has ended after")


def test_a_batch_within_its_limit_is_not_reported() -> None:
    with batch_under_way("decider", 7):
        assert longer_than(3600) == {}


def test_what_it_waits_for_and_what_stopped_is_announced(tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path, SERVICE, slow_batch_s=60)

    heartbeat.beat(1_790_000_000.5, {"lake": "the disk is full"})

    assert find_service(tmp_path) == replace(
        SERVICE, kafka_away_since=1_790_000_000.5, stopped={"lake": "the disk is full"}
    )
    assert heartbeat.service == find_service(tmp_path)


@pytest.mark.proves("F-09")
def test_a_sign_of_life_comes_without_any_news(tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path, SERVICE, slow_batch_s=60)
    os.utime(tmp_path / FILE, (1, 1))
    assert silence_s(tmp_path) > SILENT_S

    heartbeat.beat(None, {})

    assert silence_s(tmp_path) < SILENT_S


@pytest.mark.proves("F-08")
def test_an_announcement_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    heartbeat = Heartbeat(tmp_path, SERVICE, slow_batch_s=60)
    (tmp_path / FILE).unlink()

    heartbeat.beat(None, {})

    assert find_service(tmp_path) == SERVICE


@pytest.mark.proves("F-08")
def test_one_that_cannot_be_written_is_said_once_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = Heartbeat(tmp_path, SERVICE, slow_batch_s=60)
    in_the_way = tmp_path / f"{FILE}.new"
    in_the_way.mkdir()

    heartbeat.beat(1_790_000_000.5, {})
    heartbeat.beat(1_790_000_000.5, {"lake": "the disk is full"})

    assert find_service(tmp_path) == SERVICE
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(f"the announcement of the service in {tmp_path} cannot be written: ")
    assert said.endswith("the service runs on and tries again every 5 s")
    in_the_way.rmdir()
    heartbeat.beat(None, {})
    assert find_service(tmp_path) == SERVICE
    assert heartbeat.service == SERVICE


def test_everything_that_is_stopped_is_reported() -> None:
    ailing = replace(
        SERVICE,
        kafka_away_since=0.0,
        stopped={"lake": "the disk is full"},
        overdue={"decider": OverdueBatch(7, 0.0)},
    )

    [away] = kafka_away(ailing)
    silent, stopped, overdue = service_problems(ailing, SILENT_S + 1)

    assert away.startswith("Kafka is away since 19")
    assert silent == (
        f"the service, pid {os.getpid()}, has given no sign of life for 61 s: something has "
        "stopped it (SIGSTOP, a debugger), or it hangs; stop it and start again"
    )
    assert stopped == "the lake stopped: the disk is full"
    assert overdue.startswith("batch 7 of decider has been under way since 19")
    assert [*kafka_away(SERVICE), *service_problems(SERVICE, 0)] == []
