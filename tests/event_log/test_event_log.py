"""Everything that there ever was, from wherever it still is."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.event_log.followable import CutLog, Followable
from verdict.adapters.kafka.errors import TopicMissingError
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import UnreachableError
from verdict.read_side.tables import position
from verdict.streaming.event_log.archive import Archive, HashMismatchError
from verdict.streaming.event_log.event_log import EventLog, EventsMissingError
from verdict.wire.stored_event import InvalidHistoryError


@pytest.fixture
def parts() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def without_archive(of: Followable, parts: ExitStack) -> EventLog:
    kafka = parts.enter_context(KafkaLog(of.options))

    def nowhere() -> Archive:
        raise UnreachableError("the database is away")

    return EventLog(of.topics, lambda: kafka, nowhere)


@pytest.mark.proves("G-07")
def test_it_is_all_there_wherever_it_is_and_whenever_kafka_drops_it(
    followable: Followable, parts: ExitStack
) -> None:
    followable.happen(2)
    whole = [*followable.log(parts).read({}, followable.ends())]
    followable.archive()
    followable.drop({0: 1})
    followable.happen(1)

    cut = CutLog(followable.options, followable.drop)
    found = [*followable.log(parts, cut).read({}, followable.ends())]

    assert [one for one in sorted(found) if one in whole] == sorted(whole)
    assert len(found) == len({one[:3] for one in found}) == len(followable.written)
    assert [*followable.log(parts).read(followable.ends(), followable.ends())] == []


def test_what_is_nowhere_is_named_and_why_there_is_no_archive(
    followable: Followable, parts: ExitStack
) -> None:
    followable.happen(1)
    followable.drop({0: 1})
    told = r":0 are archived up to offset 0.* and Kafka has them from 1 only"

    with pytest.raises(EventsMissingError, match=told):
        [*followable.log(parts).read({}, followable.ends())]
    with pytest.raises(EventsMissingError, match=r"there is no archive: the database is away"):
        [*without_archive(followable, parts).read({}, followable.ends())]


@pytest.mark.proves("A-02")
def test_a_reader_that_has_more_than_kafka_gets_an_error(
    followable: Followable, parts: ExitStack
) -> None:
    """As when Kafka was restored from an older copy than the read side."""
    followable.happen(1)
    followable.archive()
    archived = followable.read_side.projections["event_archive"]
    with followable.read_side.engine.begin() as connection:
        known = position.load(connection, archived)
        position.advance(
            connection, archived, known, {place: end + 9 for place, end in known.items()}
        )

    with pytest.raises(TopicMissingError, match="find out who created the topic again"):
        [*followable.log(parts).every("position")]


@pytest.mark.proves("G-07")
def test_a_row_that_was_altered_is_never_taken_for_an_event(
    followable: Followable, parts: ExitStack
) -> None:
    followable.happen(2)
    followable.archive()
    followable.drop()
    table = followable.read_side.projections["event_archive"].table
    with followable.read_side.engine.begin() as connection:
        this = (table.c.aggregate_id == "p-1") & (table.c.version == 2)
        connection.execute(table.update().where(this).values(hash="0" * 64))
    log = followable.log(parts)

    with pytest.raises(HashMismatchError, match="version 2 of position 'p-1', was altered"):
        [*log.read({}, followable.ends())]
    of_type = {name: [*history] for name, history in log.every("position")}
    with pytest.raises(InvalidHistoryError, match="was altered: its value has the SHA-256"):
        of_type["p-1"][1].stored  # noqa: B018
    assert [one.stored.event.version for one in log.history("position", "p-2")] == [1, 2]
