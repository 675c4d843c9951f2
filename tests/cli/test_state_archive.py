"""`verdict state` with an archive: what it holds is not read from Kafka, what it lacks is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from schemas.position import PositionAdjusted, PositionClosed
from tests.cli.conftest import Run, Verdict
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import UnreachableError
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import Delivery, ProjectionBatch
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import EventLog as Log
from verdict.streaming.event_log.record import PositionedEvent
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.topics import Topics

ORDER = "archived-1"
NOWHERE = ("--bootstrap-servers", "127.0.0.1:1")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[ReadSide]:
    read_side = ReadSide(f"sqlite:///{tmp_path / 'archive.db'}")
    yield read_side
    read_side.close()


@pytest.fixture
def ordered(verdict: Run, broker: EmbeddedBroker, topics: Topics) -> list[PositionedEvent]:
    """Return the events of an order that was placed, filled and deleted."""
    fields = ("client=ada", "ticker=AAPL", "side=BUY", "quantity=5", "limit_price_cents=100")
    for command, expected, named in [
        ("PlaceOrder", 0, fields),
        ("FillOrder", 1, ("quantity=5", "price_cents=99")),
        ("DeleteOrder", 3, ()),
    ]:
        words = [word for field in named for word in ("--field", field)]
        about = ("--id", ORDER, "--expected-version", expected, "--command-id", command)
        sent = verdict("send", "order", command, *about, "--wait", "30", *words)
        assert sent.exit_code == 0, sent.stderr
    with KafkaLog({"bootstrap.servers": broker.bootstrap_servers}) as log:
        return [*Log(topics, lambda: log, nowhere).history("order", ORDER)]


def nowhere() -> Archive:
    raise UnreachableError("there is no read side")


def keep(archive: ReadSide, topics: Topics, events: list[PositionedEvent], behind: int = 0) -> None:
    """Archive these events, as if they were all that there was up to an offset, else the last's."""
    deliveries = [
        Delivery(p.place.topic, p.place.partition, p.place.offset, p.stored.event, p.stored.value)
        for p in events
    ]
    last = events[-1].place
    batch = ProjectionBatch(
        deliveries,
        {TopicPartition(last.topic, last.partition): OffsetRange(0, behind or last.offset + 1)},
    )
    applier = Applier(archive.engine, archive.projections["event_archive"], topics)
    assert applier.apply(batch).applied == len(events)


def state(run: Run, archive: ReadSide, kind: str, name: str, *more: object) -> Verdict:
    return run("state", kind, name, "--json", "--database-url", archive.url, *more)


@pytest.mark.proves("A-04")
def test_a_version_that_is_archived_needs_no_kafka(verdict: Run, archive: ReadSide) -> None:
    log = EventLog()
    log.add("p-1", opened("ada"), PositionAdjusted(amount=7), PositionClosed())
    archive.applier("event_archive").apply(log.batch())

    [then] = state(verdict, archive, "position", "p-1", "--at-version", 2, *NOWHERE).lines
    [before] = state(
        verdict, archive, "position", "p-1", "--at", "2026-11-21T12:00:01Z", *NOWHERE
    ).lines

    assert (then["version"], then["state"]["amount"]) == (2, 7)
    assert then["position"] == {**log.place_of("p-1")._asdict(), "offset": 1}
    assert (before["version"], before["state"]["amount"]) == (1, 1)


@pytest.mark.proves("A-04")
def test_what_is_archived_is_not_read_again_and_the_rest_comes_from_kafka(
    verdict: Run, archive: ReadSide, topics: Topics, ordered: list[PositionedEvent]
) -> None:
    assert [placed.stored.event.version for placed in ordered] == [1, 2, 3, 4]
    keep(archive, topics, ordered[:2])

    found = state(verdict, archive, "order", ORDER)
    [now] = found.lines
    [then] = state(verdict, archive, "order", ORDER, "--at-version", 3).lines

    assert (now["version"], now["life_cycle"]) == (4, "DELETED")
    assert now["position"]["offset"] == ordered[3].place.offset
    assert (then["version"], then["state"]["status"]) == (3, "completed")
    assert "without an archive" not in found.stderr


@pytest.mark.proves("G-07")
def test_no_current_state_is_shown_when_the_last_events_are_lost(
    verdict: Run, archive: ReadSide, topics: Topics, ordered: list[PositionedEvent]
) -> None:
    """It was that of the version before, as if nothing had come since."""
    keep(archive, topics, ordered[:3], ordered[3].place.offset + 1)
    response = {
        "command_id": "DeleteOrder", "aggregate_type": "order", "aggregate_id": ORDER,
        "status": "ACCEPTED", "from_version": 3, "to_version": 4, "duplicate": False,
        "correlation_id": "c", "topic": topics.commands("order"), "partition": 0, "offset": 0,
        "decided_at": 0,
    }  # fmt: skip
    with archive.engine.begin() as connection:
        connection.execute(insert(archive.projections["outcome"].tables[0]).values(response))

    now = state(verdict, archive, "order", ORDER)
    [then] = state(verdict, archive, "order", ORDER, "--at-version", 3).lines

    assert (now.exit_code, now.lines) == (1, [])
    assert "an outcome names version 4, and events end with version 3" in now.stderr
    assert then["version"] == 3
