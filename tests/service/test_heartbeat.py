"""What a service says of itself, and what `verdict status` makes of it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from verdict.operations.status.problems import SILENT_S, kafka_away, service_problems
from verdict.service.heartbeat import Heartbeat
from verdict.settings.discovery import FILE, AnnouncedService, OverdueBatch, find_service, silence_s
from verdict.streaming.queries.batches_under_way import batch_under_way

SERVICE = AnnouncedService(os.getpid(), "localhost:9092", "sqlite:///x")
FULL = {"lake": "the disk is full"}


@pytest.fixture
def heartbeat(tmp_path: Path) -> Heartbeat:
    return Heartbeat(tmp_path, SERVICE, slow_batch_s=60)


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


@pytest.mark.proves("F-08", "F-09")
def test_a_sign_of_life_comes_without_any_news_also_where_the_file_was_removed(
    heartbeat: Heartbeat, tmp_path: Path
) -> None:
    os.utime(tmp_path / FILE, (1, 1))
    assert silence_s(tmp_path) > SILENT_S
    heartbeat.beat(None, {})
    assert silence_s(tmp_path) < SILENT_S

    (tmp_path / FILE).unlink()
    with batch_under_way("decider", 7):  # within its limit
        heartbeat.beat(None, FULL)
    assert find_service(tmp_path) == replace(SERVICE, stopped=FULL)


@pytest.mark.proves("F-08")
def test_one_that_cannot_be_written_is_said_once_and_ends_nothing(
    heartbeat: Heartbeat, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / f"{FILE}.new"
    in_the_way.mkdir()

    heartbeat.beat(1_790_000_000.5, {})
    heartbeat.beat(1_790_000_000.5, FULL)

    assert find_service(tmp_path) == SERVICE
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(f"the announcement of the service in {tmp_path} cannot be written: ")
    assert said.endswith("the service runs on and tries again every 5 s")
    in_the_way.rmdir()
    heartbeat.beat(7.5, FULL)
    written = replace(SERVICE, kafka_away_since=7.5, stopped=FULL)
    assert find_service(tmp_path) == heartbeat.service == written


def test_everything_that_is_stopped_is_reported() -> None:
    ailing = replace(
        SERVICE,
        kafka_away_since=0.0,
        stopped=FULL,
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
