"""What a sender did wrong whose bytes are JSON, but not as a record of commands holds it."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from pydantic_core import from_json

HEADER_BYTES = 5  # of Confluent's framing
UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE, b"{\0", b"\0{")


def json_mistake(value: bytes) -> str | None:
    """Return what is wrong with the form of a value, and what to send instead; None: not known."""
    if value.startswith(UTF16):
        return "the value is text in UTF-16 or UTF-32: send JSON in UTF-8"
    if value.startswith(BOM_UTF8):
        return "the value begins with a byte order mark: send JSON without one, from the first { on"
    if value[:1].isspace() and _is_object(value):
        return "the value begins with a blank or a line break: send JSON from the first { on"
    if value[:1] == b"[" and _parsed(value) is not None:
        return "the value is a JSON array: send each command as a record of its own"
    if value[:1] == b'"' and isinstance(text := _parsed(value), str) and _is_object(text.encode()):
        return "the value is a JSON string that contains JSON: send the object, encoded once"
    if value[:1] == b"\0" and _is_object(value[HEADER_BYTES:]):
        return (
            "JSON follows a Confluent header (a zero byte and a 4-byte schema id): "
            "send the JSON without the header"
        )
    return None


def _is_object(value: bytes) -> bool:
    return isinstance(_parsed(value), dict)


def _parsed(value: bytes) -> object:
    try:
        return from_json(value)
    except ValueError:
        return None
