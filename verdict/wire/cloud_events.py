"""Kafka headers of what verdict writes: CloudEvents 1.0, Kafka binding, binary mode."""

from verdict.model.message import iso_time
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.headers import Headers
from verdict.wire.letter import RETRY_ATTEMPT, RETRY_ATTEMPTS, RETRY_TOPIC
from verdict.wire.response import Rejection, Response

CONTENT_TYPE = "application/avro"
DEAD_LETTER = "verdict.DeadLetter"


def event_headers(event: RecordedEvent) -> Headers:
    """Return the headers of an event: its id, type and flow can be read without decoding it."""
    name = f"verdict.{event.aggregate_type}.{type(event.payload).__name__}"
    headers = _cloud_event(event.event_id, name, f"/{event.source.topic}", event.decided_at)
    headers["ce_subject"] = event.aggregate_id
    headers["correlationid"] = event.correlation_id
    headers["causationid"] = event.causation_id
    if event.traceparent:
        headers["traceparent"] = event.traceparent
    return headers


def response_headers(response: Response, traceparent: str | None = None) -> Headers:
    """Return the headers of a response or rejection; its id is the place of its command.

    Args:
        response: What became of a command.
        traceparent: The command's, if it had one.
    """
    kind = "CommandRejection" if isinstance(response, Rejection) else "CommandResponse"
    name = f"verdict.{response.aggregate_type}.{kind}"
    topic = response.source.topic
    headers = _cloud_event(str(response.source), name, f"/{topic}/{kind}", response.decided_at)
    headers["ce_subject"] = response.aggregate_id
    headers["correlationid"] = response.correlation_id
    headers["causationid"] = response.command_id
    if traceparent:
        headers["traceparent"] = traceparent
    return headers


def dead_letter_headers(letter: DeadLetter, attempt: int | None = None) -> Headers:
    """Return the headers of a dead letter; its id is the place of what it holds.

    Args:
        letter: What could not be handled.
        attempt: How many times it was tried again so far, to be tried once more where it came from;
            None for what trying never helps.
    """
    source = letter.source
    place = f"/{source.topic}/DeadLetter"
    headers = _cloud_event(str(source), DEAD_LETTER, place, letter.received_at)
    if attempt is None:
        headers[RETRY_ATTEMPTS] = "0"
    else:
        headers[RETRY_ATTEMPT] = str(attempt)
        headers[RETRY_TOPIC] = source.topic
    return headers


def _cloud_event(event_id: str, name: str, source: str, millis: int) -> Headers:
    return {
        "ce_specversion": "1.0",
        "ce_id": event_id,
        "ce_type": name,
        "ce_source": source,
        "ce_time": iso_time(millis),
        "content-type": CONTENT_TYPE,
    }
