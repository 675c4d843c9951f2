"""The headers against the specification: the SDK of CloudEvents reads them back."""

from typing import Any

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from tests.application import encode_event
from tests.wire.arbitrary import NO_NUL, RECORDED_EVENTS, TEXTS
from tests.wire.examples import (
    DEAD_LETTER,
    EVENTS,
    TRACE,
    recorded,
)
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.cloud_events import dead_letter_headers, event_headers, trace_text
from verdict.wire.headers import Headers, joined, pairs

EVENT = recorded("order", EVENTS["order"][0])


class Opaque(JSONFormat):
    """Leaves the Avro body alone; the SDK has no format for it."""

    def read_data(self, body: Any, content_type: str | None = None) -> Any:
        return body


def read(headers: Headers, value: bytes = b"", key: bytes | None = None) -> BaseCloudEvent:
    """Return what the SDK makes of a Kafka record; it refuses what is no CloudEvent."""
    raw = {name: text.encode() for name, text in headers.items()}
    return from_binary(KafkaMessage(headers=raw, key=key, value=value), Opaque(), CloudEvent)


def test_the_sdk_reads_an_event() -> None:
    value = encode_event(EVENT)

    event = read(event_headers(EVENT), value)

    assert event.get_specversion() == "1.0"
    assert event.get_id() == EVENT.event_id
    assert event.get_type() == "verdict.order.OrderPlaced"
    assert event.get_source() == "/order.commands"
    assert event.get_datacontenttype() == "application/avro"
    assert event.get_data() == value


@pytest.mark.proves("C-15")
def test_an_event_and_a_response_carry_the_trace_of_their_command() -> None:
    without = recorded("order", EVENTS["order"][0], traceparent=None)

    assert event_headers(EVENT)["traceparent"] == TRACE
    assert "traceparent" not in event_headers(without)
    assert trace_text(TRACE) == joined({"traceparent": TRACE})
    assert trace_text(None) == joined({}) == ""


def test_the_sdk_reads_a_dead_letter() -> None:
    letter = read(dead_letter_headers(DEAD_LETTER))

    assert letter.get_type() == "verdict.DeadLetter"
    assert letter.get_id() == "order.commands:3:14"


@given(RECORDED_EVENTS)
def test_the_sdk_reads_every_event(event: RecordedEvent) -> None:
    assert read(event_headers(event)).get_id() == event.event_id


@given(st.dictionaries(TEXTS, st.text(NO_NUL, max_size=9)))
def test_headers_survive_being_one_text(headers: Headers) -> None:
    assert pairs(joined(headers)) == list(headers.items())
