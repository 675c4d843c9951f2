"""Kafka headers of what verdict writes: the mandatory ones of CloudEvents 1.0, in binary mode.

They are few because ten headers take longer to produce than the rest of a record.
"""

from functools import lru_cache

from verdict.model.recorded_event import RecordedEvent
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.dead_letter_record import RETRY_ATTEMPT, RETRY_ATTEMPTS, RETRY_TOPIC
from verdict.wire.headers import NUL, Headers, joined

CONTENT_TYPE = "application/avro"
DEAD_LETTER = "verdict.DeadLetter"
TRACE = "traceparent"
HERE = "{}"  # no id, name or topic contains it


def event_headers(event: RecordedEvent) -> Headers:
    """Return the headers of an event."""
    name = f"verdict.{event.aggregate_type}.{type(event.payload).__name__}"
    headers = _cloud_event(event.event_id, name, f"/{event.source.topic}")
    if event.traceparent:
        headers[TRACE] = event.traceparent
    return headers


@lru_cache(maxsize=4096)
def event_header_parts(aggregate_type: str, name: str, topic: str) -> tuple[str, str]:
    """Return the headers of an event without a trace as one text, cut at its id."""
    headers = _cloud_event(HERE, f"verdict.{aggregate_type}.{name}", f"/{topic}")
    before, _, behind = joined(headers).partition(HERE)
    return before, behind


def trace_text(traceparent: str | None) -> str:
    """Return the headers of a response or a rejection as one text."""
    return f"{TRACE}{NUL}{traceparent}" if traceparent else ""


def dead_letter_headers(letter: DeadLetter, attempt: int | None = None) -> Headers:
    """Return the headers of a dead letter; its id is the position of the record in it."""
    topic = letter.source.topic
    headers = _cloud_event(str(letter.source), DEAD_LETTER, f"/{topic}/DeadLetter")
    if attempt is None:
        return headers | {RETRY_ATTEMPTS: "0"}
    return headers | {RETRY_ATTEMPT: str(attempt), RETRY_TOPIC: topic}


def _cloud_event(event_id: str, name: str, source: str) -> Headers:
    return {
        "ce_specversion": "1.0",
        "ce_id": event_id,
        "ce_type": name,
        "ce_source": source,
        "content-type": CONTENT_TYPE,
    }
