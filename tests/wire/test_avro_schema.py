"""Types that share a name in a schema: one of them is never written as the other."""

from typing import Any, Literal

import pytest

from verdict.model.message import Event, Message
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.avro.reader import avro_reader
from verdict.wire.avro.writer import avro_writer
from verdict.wire.schemas.derive import DuplicateNameError, RecordSchema


class Source(Message):
    """Named as what the engine says of where a command lay."""

    system: str


class Imported(Event):
    origin: Source


class Opened(Event):
    status: Literal["NEW", "OPEN"]


class Reopened(Event):
    status: Literal["NEW", "OPEN"]


class Closed(Event):
    status: Literal["SOLVED", "DROPPED"]


class Line(Message):
    text: str


class Sent(Event):
    line: Line


def other_line() -> type[Event]:
    class Line(Message):
        cents: int

    class Paid(Event):
        line: Line

    return Paid


def payload_of(*events: type[Event]) -> Any:
    schema: Any = RecordSchema("shop.ticket", {"payload": events}).record(RecordedEvent)
    return schema["fields"][-1]["type"]


def status_of(record: Any) -> Any:
    return record["fields"][0]["type"]


def test_fields_of_one_name_and_the_same_words_share_a_type() -> None:
    opened, reopened = payload_of(Opened, Reopened)

    assert status_of(opened)["name"] == "Status"
    assert status_of(reopened) == "shop.ticket.Status"


def test_other_words_in_a_field_of_the_same_name_are_a_type_of_their_own() -> None:
    opened, closed = payload_of(Opened, Closed)

    assert (status_of(opened)["name"], status_of(opened)["symbols"]) == ("Status", ["NEW", "OPEN"])
    assert status_of(closed)["name"] == "ClosedStatus"
    written = avro_writer(closed)(Closed(status="DROPPED"))
    assert avro_reader(closed)(written, 0) == ({"status": "DROPPED"}, len(written))


@pytest.mark.parametrize(
    ("events", "named"),
    [((Imported,), "shop.ticket.Source"), ((Sent, other_line()), "shop.ticket.Line")],
    ids=["as the engine's", "as another"],
)
def test_messages_that_would_share_a_name_are_refused(
    events: tuple[type[Event], ...], named: str
) -> None:
    with pytest.raises(DuplicateNameError, match=f"would both be {named} in schemas: give one"):
        payload_of(*events)
