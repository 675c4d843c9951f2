"""U-05: the span of a command, from its answer alone."""

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from tests.projection.responses import ACCEPTED
from verdict.model.reason import Reason
from verdict.tracing.spans import Answered, span_of
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
    return span_of(
        Answered("order.responses", 2, offset, encode(response), headers, at), Resource({})
    )


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
        SAMPLED[:-1] + b"0",  # its sender does not want it
        b"ff" + SAMPLED[2:],
        SAMPLED + b"-more",
        SAMPLED.upper(),
        f"00-{'0' * 32}-{PARENT}-01".encode(),
        f"00-{TRACE_ID}-{'0' * 16}-01".encode(),
    ],
)
def test_whoever_traces_nothing_gets_no_span(trace: bytes | None) -> None:
    assert span(trace=trace) is None


@pytest.mark.parametrize("more", [b"", b"-what"])
def test_a_later_version_is_read_as_far_as_it_is_known(more: bytes) -> None:
    assert span(trace=b"01" + SAMPLED[2:] + more) is not None


def test_an_answer_that_cannot_be_read_has_none() -> None:
    answered = Answered("order.responses", 0, 0, b"garbage", [("traceparent", SAMPLED)], 5)

    assert span_of(answered, Resource({})) is None


def test_the_same_answer_has_the_same_id_and_another_one_another() -> None:
    ids = [one.context.span_id for one in (span(), span(), span(offset=8)) if one]

    assert ids[0] == ids[1] != ids[2]


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
