"""U-05: the spans of a command and of its events, from what is recorded."""

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from tests.application import CATALOG, encode_event
from tests.kit.log import AN_EVENT as EVENT
from tests.read_side.responses import ACCEPTED
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.operations.tracing.spans import TracedRecord, span_of_command, span_of_event
from verdict.wire.records import encode
from verdict.wire.response import Response, Status

TRACE_ID, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE_ID}-{PARENT}-01".encode()
LATER_MS = 250


def span(
    response: Response = ACCEPTED, trace: bytes | None = SAMPLED, offset: int = 7
) -> ReadableSpan | None:
    headers = [("other", b"x"), ("traceparent", trace)]
    at = response.decided_at + LATER_MS
    place = Source("order.responses", 2, offset)
    return span_of_command(TracedRecord(place, encode(response), headers, at), Resource({}))


def event_span(trace: bytes | None = SAMPLED) -> ReadableSpan | None:
    event = EVENT._replace(source=ACCEPTED.source)
    recorded = TracedRecord(
        Source("position.events", 2, 5), encode_event(event), [("traceparent", trace)], LATER_MS
    )
    return span_of_event(recorded, CATALOG["position"], Resource({}))


def test_it_is_the_child_of_its_sender_and_lasts_until_the_answer() -> None:
    found = span()

    assert found is not None
    assert found.name == f"{ACCEPTED.aggregate_type} {ACCEPTED.command_type}"
    assert f"{found.context.trace_id:032x}" == TRACE_ID
    assert found.parent is not None
    assert f"{found.parent.span_id:016x}" == PARENT
    assert (found.start_time, found.end_time) == (
        ACCEPTED.decided_at * 1_000_000, (ACCEPTED.decided_at + LATER_MS) * 1_000_000,
    )  # fmt: skip
    told = found.attributes or {}
    assert told["verdict.aggregate.id"] == ACCEPTED.aggregate_id
    assert told["verdict.status"] == "ACCEPTED"
    assert told["messaging.kafka.offset"] == ACCEPTED.source.offset
    assert "verdict.reason" not in told


@pytest.mark.parametrize(
    "trace",
    [
        None,
        b"",
        b"garbage",
        b"\xff",
        SAMPLED[:-1] + b"0",  # its sender does not want it
    ],
)
def test_a_sender_without_a_trace_gets_no_span(trace: bytes | None) -> None:
    assert span(trace=trace) is event_span(trace) is None


def test_an_answer_that_cannot_be_read_has_none() -> None:
    garbage = TracedRecord(Source("order.x", 0, 0), b"garbage", [("traceparent", SAMPLED)], 5)

    assert span_of_command(garbage, Resource({})) is None
    assert span_of_event(garbage, CATALOG["order"], Resource({})) is None


def test_the_same_command_has_the_same_id_and_another_one_another() -> None:
    other = ACCEPTED.model_copy(update={"source": Source("order.commands", 2, 8)})
    ids = [one.context.span_id for one in (span(), span(offset=8), span(other)) if one]

    assert ids[0] == ids[1] != ids[2]
    duplicate = span(ACCEPTED.model_copy(update={"duplicate": True}))
    assert duplicate is not None
    assert duplicate.start_time == duplicate.end_time == (ACCEPTED.decided_at + LATER_MS) * 10**6


def test_an_event_is_a_child_of_its_command() -> None:
    command, event = span(), event_span()
    assert command is not None
    assert event is not None

    assert event.name == f"position {type(EVENT.payload).__name__}"
    assert event.parent == command.context
    assert event.start_time == event.end_time == LATER_MS * 1_000_000
    assert (event.attributes or {})["verdict.event.id"] == EVENT.event_id
    assert command.context.span_id != event.context.span_id
    assert {one.context.trace_id for one in (command, event)} == {int(TRACE_ID, 16)}


@pytest.mark.parametrize("millis", [-1, 2**62, 2**63 - 1])
def test_an_impossible_time_keeps_no_span_from_being_sent(millis: int) -> None:
    timed = ACCEPTED.model_copy(update={"decided_at": millis})
    headers = [("traceparent", SAMPLED)]
    place, event = Source("order.events", 0, 0), encode_event(EVENT)
    told = [
        span_of_command(TracedRecord(place, encode(timed), headers, millis), Resource({})),
        span_of_event(
            TracedRecord(place, event, headers, millis), CATALOG["position"], Resource({})
        ),
    ]

    assert encode_spans([one for one in told if one is not None]).ByteSize() > 0
    assert None not in told


@pytest.mark.parametrize(
    ("reason", "status"),
    [(Reason.VERSION_CONFLICT, StatusCode.UNSET), (Reason.HANDLER_ERROR, StatusCode.ERROR)],
)
def test_a_refusal_is_an_answer_and_a_bug_of_the_rules_an_error(
    reason: Reason, status: StatusCode
) -> None:
    refused = ACCEPTED.model_copy(
        update={"status": Status.REJECTED, "reason": reason, "message": "why"}
    )
    found = span(refused)

    assert found is not None
    assert found.status.status_code is status
    assert (found.attributes or {})["verdict.reason"] == reason.value
