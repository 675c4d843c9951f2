"""The parts of a record as Kafka's client gives them, which it does not of every header."""

from typing import Any

from confluent_kafka import Message

from verdict.wire.dead_letter_record import Pairs


def headers_of(message: Message) -> Pairs | None:
    """Return names and values; None if a name is no text in UTF-8, when none can be had."""
    try:
        found: Any = message.headers() or ()  # its declared type allows for forms it never has
        return tuple((name, header_bytes(value)) for name, value in found)
    except (SystemError, UnicodeDecodeError):
        # The client leaves the error of such a name behind and returns nevertheless. Python makes a
        # SystemError of that, but where it has come by often: there the error shows up by itself.
        return None


def header_bytes(part: bytes | str | None) -> bytes | None:
    """Return a key, a value or that of a header, whose declared type allows for text."""
    return part.encode() if isinstance(part, str) else part
