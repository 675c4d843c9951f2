"""An event's payload as JSON that people write: its fields, and its `type` if they like."""

from pydantic_core import from_json, to_json

from verdict.model.message import Event
from verdict.model.nul import nul_in
from verdict.wire.readable import readable


def payload_json(payload: Event) -> str:
    """Return the payload as JSON with its `type`; times are ISO 8601."""
    return to_json(readable(payload)).decode()


def payload_from(kind: type[Event], document: str | bytes) -> Event:
    """Return the payload that a JSON object says.

    Fields that it lacks have their defaults, as when an event of an older schema is read.

    Args:
        kind: The class that it must be of.
        document: JSON; a `type` in it is the name of the class.

    Raises:
        ValueError: It is no JSON object, of another type, or breaks the rules of its class.
    """
    fields = from_json(document)
    if not isinstance(fields, dict):
        raise ValueError("a payload is a JSON object")
    if (named := fields.pop("type", kind.__name__)) != kind.__name__:
        raise ValueError(f"its type is {named!r}, and the event is of {kind.__name__}")
    payload = kind.model_validate_json(to_json(fields))
    if (path := nul_in(payload)) is not None:
        raise ValueError(f"{path} has the character NUL, which PostgreSQL cannot store")
    return payload
