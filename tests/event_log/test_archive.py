"""What the archive knows of positions, on both databases."""

import pytest

from schemas.position import PositionAdjusted
from tests.application import CATALOG
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import SECOND, START, EventLog, opened
from verdict.streaming.event_log.archive import Archive, PositionNotFoundError
from verdict.wire.partitions import TopicPartition

NAMES = [f"p-{number}" for number in range(9)]
NOBODYS = TopicPartition("order.events", 0)


@pytest.fixture
def log() -> EventLog:
    """Return three events of each position, a control record between."""
    log = EventLog(partitions=3)
    for amount in (None, 5, 6):
        for name in NAMES:
            log.add(name, opened("ada") if amount is None else PositionAdjusted(amount=amount))
        for place in log.partitions:
            log.pass_over(place)
    return log


def test_a_global_position_is_a_place_in_every_partition(
    new_database: NewDatabase, log: EventLog
) -> None:
    read_side = ReadSide(new_database())
    read_side.applier("event_archive").apply(log.everything())
    every = 'SELECT topic, "partition", "offset" FROM event_archive ORDER BY global_position'
    archived = [TopicPartition(*row[:2]) for row in read_side.select(every)]

    with read_side.reader() as reader:
        archive = Archive(reader)
        for position in range(len(archived) + 1):
            archive.require_position(position)
            ends = {place: archive.end_at_position(place, position) for place in log.partitions}
            before = [d for d in log.deliveries if d.offset < ends[TopicPartition(*d[:2])]]
            assert len(before) == position
            for place in log.partitions:
                assert len([d for d in before if TopicPartition(*d[:2]) == place]) == archived[
                    :position
                ].count(place)
        assert archive.end_at_position(NOBODYS, len(archived)) == 0
        with pytest.raises(
            PositionNotFoundError, match=r"no global position 28 yet, .* ends at 27"
        ):
            archive.require_position(28)
    read_side.close()


def test_a_time_is_the_place_behind_the_last_event_of_that_time_or_before(
    new_database: NewDatabase, log: EventLog
) -> None:
    read_side = ReadSide(new_database())
    read_side.applier("event_archive").apply(log.everything())

    with read_side.reader() as reader:
        archive = Archive(reader)
        for nth in range(len(log.deliveries) + 1):
            for millis in (START + nth * SECOND, START + nth * SECOND + 999):
                for place in log.partitions:
                    known = [d.offset + 1 for d in log.deliveries[:nth] if d[:2] == place]
                    assert archive.end_at_time(place, millis) == max(known, default=0)
        assert archive.end_at_time(NOBODYS, START + 99 * SECOND) == 0
        assert archive.standing().reached == log.ends
    read_side.close()


@pytest.mark.parametrize("page", [1, 4, 27, 1000])
def test_every_event_of_a_type_comes_by_aggregate_and_version(
    new_database: NewDatabase, log: EventLog, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verdict.streaming.event_log.archive.PAGE", page)
    log.add("P-é", opened("bob"))
    log.add("p-\U0001f600", opened("cleo"))
    read_side = ReadSide(new_database())
    read_side.applier("event_archive").apply(log.everything())
    written = [(d.record.aggregate_id, d.record.version) for d in log.deliveries]  # type: ignore[union-attr]

    with read_side.reader() as reader:
        archive = Archive(reader)
        standing = archive.standing()
        found = [
            placed.stored.event for placed in archive.every(CATALOG["position"], standing.last)
        ]
        first = [placed.stored.event for placed in archive.every(CATALOG["position"], 9)]

    assert [(event.aggregate_id, event.version) for event in found] == sorted(written)
    assert standing == (log.ends, len(written))
    assert len(first) == 9
    read_side.close()
