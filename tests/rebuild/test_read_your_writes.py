"""Whoever has the response to a command can wait until a projection shows it."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from projections.us_holder import us_holder
from schemas.position import PositionClosed, PositionTransferred
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from tests.read_side.responses import ACCEPTED, REJECTED
from verdict.adapters.sql.readers.reader import Reader
from verdict.errors import TimedOutError
from verdict.read_side.apply.batch import Delivery, ProjectionBatch, UnreadableRecord
from verdict.read_side.catalog import UnknownProjectionError
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.read_your_writes import (
    ProjectionUnavailableError,
    ReadToken,
    wait_for_projection,
)
from verdict.wire.partitions import OffsetRange

pytestmark = pytest.mark.both_databases

LONG_S = 60
AT_ONCE = 0.0
ADA = ReadToken("position", "p-ada", 2)


@pytest.fixture
def read_side(new_database: NewDatabase) -> Iterator[ReadSide]:
    read_side = ReadSide(new_database())
    yield read_side
    read_side.close()


@pytest.fixture
def reader(read_side: ReadSide) -> Iterator[Reader]:
    with read_side.reader() as reader:
        yield reader


@pytest.fixture
def log(read_side: ReadSide) -> EventLog:
    """Return the events of a position that was opened, and is shown."""
    log = EventLog()
    log.add("p-ada", opened("ada"))
    read_side.applier("us_holder").apply(log.batch())
    return log


def test_what_is_shown_already_is_not_waited_for(reader: Reader, log: EventLog) -> None:
    assert wait_for_projection(APPLICATION, reader, "us_holder", ADA._replace(version=1), AT_ONCE)


@pytest.mark.proves("B-07")
def test_it_returns_when_the_projection_has_come_so_far(
    read_side: ReadSide, reader: Reader, log: EventLog
) -> None:
    log.add("p-ada", PositionTransferred(client="bob"))
    later = threading.Timer(0.2, lambda: read_side.applier("us_holder").apply(log.batch()))
    later.start()

    assert wait_for_projection(APPLICATION, reader, "us_holder", ADA, LONG_S)

    assert read_side.holders() == {"bob": 1}
    later.join()


@pytest.mark.proves("B-07")
def test_a_removed_row_is_shown_by_its_remains(
    read_side: ReadSide, reader: Reader, log: EventLog
) -> None:
    log.add("p-ada", PositionClosed())
    read_side.applier("us_holder").apply(log.batch())

    assert wait_for_projection(APPLICATION, reader, "us_holder", ADA, AT_ONCE)
    assert read_side.holders() == {}


@pytest.mark.proves("B-07")
def test_in_time_or_not_is_an_error_or_false_as_the_caller_likes(
    reader: Reader, log: EventLog
) -> None:
    with pytest.raises(TimedOutError, match="'p-ada' at version 1 after 0 s, and not at 2 yet"):
        wait_for_projection(APPLICATION, reader, "us_holder", ADA, AT_ONCE)

    assert wait_for_projection(APPLICATION, reader, "us_holder", ADA, AT_ONCE, stale=True) is False


@pytest.mark.proves("B-07")
def test_an_aggregate_that_is_held_is_not_waited_for(
    read_side: ReadSide, reader: Reader, log: EventLog
) -> None:
    log.add_unseen("p-ada", PositionTransferred(client="bob"))
    log.add("p-ada", PositionTransferred(client="cleo"))
    read_side.applier("us_holder").apply(log.batch())

    with pytest.raises(
        ProjectionUnavailableError, match="blocks position 'p-ada': it waits for version 2"
    ):
        wait_for_projection(APPLICATION, reader, "us_holder", ADA, LONG_S)


@pytest.mark.proves("B-07")
def test_a_projection_that_is_stopped_is_not_waited_for(
    read_side: ReadSide, reader: Reader, log: EventLog
) -> None:
    place = log.place_of("p-new")
    broken = Delivery(*place, log.ends[place], UnreadableRecord("broken"))
    spans = {place: OffsetRange(log.ends[place], log.ends[place] + 1)}
    read_side.applier("us_holder").apply(ProjectionBatch([broken], spans))

    with pytest.raises(ProjectionUnavailableError, match=r"us_holder is stopped: .*broken"):
        wait_for_projection(APPLICATION, reader, "us_holder", ADA, LONG_S)


@pytest.mark.proves("B-07")
def test_an_aggregate_that_cannot_be_applied_is_not_waited_for(
    read_side: ReadSide, reader: Reader, log: EventLog
) -> None:
    log.add("p-ada", opened("ada"))  # once more, which the rules never let happen
    read_side.projections["us_holder"] = replace(compile_projection(us_holder), evolve=_never)
    read_side.applier("us_holder").apply(log.batch())

    with pytest.raises(
        ProjectionUnavailableError, match=r"waits for version 2, which cannot be applied: .* never"
    ):
        wait_for_projection(APPLICATION, reader, "us_holder", ADA, LONG_S)


def _never(row: object, event: object) -> None:
    raise ValueError("never")


@pytest.mark.parametrize(
    ("projection", "aggregate_type", "said"),
    [
        (
            "us_holder",
            "order",
            "no row for each order, .*: client_recent_order or client_overview or order_state does",
        ),
        (
            "outcome",
            "position",
            "for each position, .*: us_holder or client_overview or position_state does",
        ),
        ("us_holder", "invoice", "nothing to wait for: invoice_state does"),
    ],
)
def test_what_a_projection_never_shows_is_not_waited_for(
    reader: Reader, projection: str, aggregate_type: str, said: str
) -> None:
    token = ADA._replace(aggregate_type=aggregate_type)

    with pytest.raises(ProjectionUnavailableError, match=said):
        wait_for_projection(APPLICATION, reader, projection, token, LONG_S, stale=True)


def test_a_projection_that_does_not_exist_is_named_with_those_that_do(reader: Reader) -> None:
    with pytest.raises(
        UnknownProjectionError, match="no projection 'us_holders': there are event_archive, "
    ):
        wait_for_projection(APPLICATION, reader, "us_holders", ADA, LONG_S)


def test_the_token_comes_from_the_response() -> None:
    accepted = ACCEPTED.model_copy(update={"to_version": 7})

    assert ReadToken.of(accepted) == (accepted.aggregate_type, accepted.aggregate_id, 7)
    assert ReadToken.of(REJECTED) == (REJECTED.aggregate_type, REJECTED.aggregate_id, 1)
    assert ReadToken.of(
        ACCEPTED.model_copy(update={"from_version": 7, "to_version": 7})
    ) == ReadToken.of(accepted)
    assert ReadToken.of(REJECTED.model_copy(update={"to_version": None})) is None
