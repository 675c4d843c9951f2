"""From an answer to the span of its command, a child of who sent it; pure.

A sender that traces puts `traceparent` into the envelope (W3C Trace Context), and its answer has it
as a header. The span lasts from the command's arrival in Kafka to that of its answer.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from verdict.model.reason import Reason
from verdict.wire.cloud_events import TRACE
from verdict.wire.codec import Undecodable
from verdict.wire.records import decode
from verdict.wire.response import Response

# https://www.w3.org/TR/trace-context/#versioning-of-traceparent: later versions may have more
TRACEPARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
NONE, FIRST = b"ff", b"00"  # versions
NS = 1_000_000  # of a millisecond


class Answered(NamedTuple):
    """A record of a topic of responses, its headers as Kafka has them, its time in milliseconds."""

    topic: str
    partition: int
    offset: int
    value: bytes
    headers: Iterable[tuple[str, Any]]
    timestamp: int


def span_of(answered: Answered, resource: Resource) -> ReadableSpan | None:
    """Return the span of the command that was answered; None where its sender traces nothing.

    The same answer gives the same span, with the same id: sent twice, it is one.

    Args:
        answered: The response.
        resource: Of the deployment.
    """
    parent = _parent(answered.headers)
    if parent is None or not parent.trace_flags & TraceFlags.SAMPLED:
        return None
    try:
        response = decode(Response, answered.value)
    except Undecodable:
        return None  # which `verdict verify` names
    begin = response.decided_at * NS
    return ReadableSpan(
        name=f"{response.aggregate_type} {response.command_type or 'command'}",
        context=SpanContext(
            parent.trace_id, _span_id(answered), is_remote=False, trace_flags=parent.trace_flags
        ),
        parent=parent,
        resource=resource,
        attributes=_attributes(response),
        kind=SpanKind.CONSUMER,
        status=_status(response),
        start_time=begin,
        end_time=max(begin, answered.timestamp * NS),  # two brokers' clocks may differ
    )


def _parent(headers: Iterable[tuple[str, Any]]) -> SpanContext | None:
    values = [value for name, value in headers if name == TRACE and isinstance(value, bytes)]
    found = TRACEPARENT.fullmatch(values[-1]) if values else None
    if found is None or found[1] == NONE or (found[1] == FIRST and found[5]):
        return None
    trace_id, span_id, flags = (int(found[part], 16) for part in (2, 3, 4))
    context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return context if context.is_valid else None


def _span_id(answered: Answered) -> int:
    place = f"{answered.topic}:{answered.partition}:{answered.offset}"
    return int.from_bytes(sha256(place.encode()).digest()[:8]) or 1  # 0 is none


def _status(response: Response) -> Status:
    """A refusal is an answer as good as any; a bug of the rules is an error."""
    if response.reason is Reason.HANDLER_ERROR:
        return Status(StatusCode.ERROR, response.message)
    return Status(StatusCode.UNSET)


def _attributes(response: Response) -> dict[str, str | int | bool]:
    source = response.source
    known = {
        "messaging.system": "kafka",
        "messaging.destination.name": source.topic,
        "messaging.destination.partition.id": str(source.partition),
        "messaging.kafka.offset": source.offset,
        "verdict.aggregate.type": response.aggregate_type,
        "verdict.aggregate.id": response.aggregate_id,
        "verdict.command.id": response.command_id,
        "verdict.command.type": response.command_type,
        "verdict.status": response.status,
        "verdict.reason": response.reason,
        "verdict.from_version": response.from_version,
        "verdict.to_version": response.to_version,
        "verdict.events": len(response.event_ids),
        "verdict.duplicate": response.duplicate,
        "verdict.correlation_id": response.correlation_id,
        "verdict.handler_version": response.handler_version,
    }
    return {name: _plain(value) for name, value in known.items() if value is not None}


def _plain(value: object) -> str | int | bool:
    return value if isinstance(value, bool | int) else str(value)
