"""From the responses and events of a command to its spans, children of the sender's; pure.

A sender that traces puts `traceparent` into the envelope (W3C Trace Context), and responses and
events have it as a header. A record always gives the same span with the same id.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import (
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    get_current_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic import ValidationError

from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.wire.catalog import AggregateContext
from verdict.wire.cloud_events import TRACE
from verdict.wire.codec import DecodeError
from verdict.wire.records import decode, decode_event
from verdict.wire.response import Response

TRACE_CONTEXT = TraceContextTextMapPropagator()
NS = 1_000_000  # of a millisecond
LATEST = 2**63 - 1  # nanoseconds: more no collector takes, and all that is sent along with it


class TracedRecord(NamedTuple):
    """A record of Kafka, with its raw headers and its time in milliseconds."""

    place: Source
    value: bytes
    headers: Iterable[tuple[str, Any]]
    timestamp: int


def span_of_command(answer: TracedRecord, resource: Resource) -> ReadableSpan | None:
    """Return the span of a command, if its sender traces.

    It lasts from the command's arrival in Kafka to that of its response. That of a duplicate is a
    moment, because its response has the time of the original.
    """
    parent = _sampled(answer.headers)
    if parent is None:
        return None
    try:
        response = decode(Response, answer.value)
    except DecodeError:
        return None  # which `verdict verify` names
    begin = _ns(answer.timestamp if response.duplicate else response.decided_at)
    is_bug = response.reason is Reason.HANDLER_ERROR  # a rejection is an outcome like any other
    status = Status(StatusCode.ERROR, response.message) if is_bug else Status(StatusCode.UNSET)
    return ReadableSpan(
        name=f"{response.aggregate_type} {response.command_type or 'command'}",
        context=_below(parent, response.source),
        parent=parent,
        resource=resource,
        attributes=_attributes(response),
        kind=SpanKind.CONSUMER,
        status=status,
        start_time=begin,
        end_time=max(begin, _ns(answer.timestamp)),  # two brokers' clocks may differ
    )


def span_of_event(
    recorded: TracedRecord, context: AggregateContext, resource: Resource
) -> ReadableSpan | None:
    """Return the span of an event, a child of its command's, if its sender traces.

    It is the moment at which the event arrived in Kafka.
    """
    sender = _sampled(recorded.headers)
    if sender is None:
        return None
    try:
        event = decode_event(context, recorded.value)
    except (DecodeError, ValidationError):
        return None  # a dead letter
    aggregate_type, parent = context.name, _below(sender, event.source)
    known = {
        **_at(recorded.place),
        "verdict.aggregate.type": aggregate_type,
        "verdict.aggregate.id": event.aggregate_id,
        "verdict.event.id": event.event_id,
        "verdict.event.version": event.version,
        "verdict.command.id": event.command_id,
        "verdict.correlation_id": event.correlation_id,
    }
    moment = _ns(recorded.timestamp)
    return ReadableSpan(
        name=f"{aggregate_type} {type(event.payload).__name__}",
        context=_below(parent, recorded.place),
        parent=parent,
        resource=resource,
        attributes=known,
        kind=SpanKind.PRODUCER,
        start_time=moment,
        end_time=moment,
    )


def _ns(millis: int) -> int:
    """Return a Kafka time as spans have it, within their limits: senders may write any time."""
    return min(max(millis, 0) * NS, LATEST)


def _sampled(headers: Iterable[tuple[str, Any]]) -> SpanContext | None:
    carrier = {
        name: value.decode(errors="replace")
        for name, value in headers
        if name == TRACE and isinstance(value, bytes)
    }
    parent = get_current_span(TRACE_CONTEXT.extract(carrier)).get_span_context()
    return parent if parent.is_valid and parent.trace_flags.sampled else None


def _below(parent: SpanContext, *what: object) -> SpanContext:
    """Return a span of the same trace, with an id that follows from what it is about."""
    named = ":".join(map(str, what))
    span_id = int.from_bytes(sha256(named.encode()).digest()[:8]) or 1  # 0 is none
    return SpanContext(parent.trace_id, span_id, is_remote=False, trace_flags=parent.trace_flags)


def _attributes(response: Response) -> dict[str, str | int | bool]:
    known = {
        "verdict.aggregate.type": response.aggregate_type,
        "verdict.aggregate.id": response.aggregate_id,
        "verdict.command.id": response.command_id,
        "verdict.command.type": response.command_type,
        "verdict.status": response.status.value,
        "verdict.reason": response.reason and str(response.reason),
        "verdict.from_version": response.from_version,
        "verdict.to_version": response.to_version,
        "verdict.events": len(response.event_ids),
        "verdict.duplicate": response.duplicate,
        "verdict.correlation_id": response.correlation_id,
        "verdict.handler_version": response.handler_version,
    }
    return _at(response.source) | {
        name: value for name, value in known.items() if value is not None
    }


def _at(place: Source) -> dict[str, str | int | bool]:
    return {
        "messaging.system": "kafka",
        "messaging.destination.name": place.topic,
        "messaging.destination.partition.id": str(place.partition),
        "messaging.kafka.offset": place.offset,
    }
