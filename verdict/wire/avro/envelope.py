"""A command's envelope as the bytes it came in.

Most of it goes on into events and answers as it is, so it is looked at and not taken apart.
"""

from typing import NamedTuple

from verdict.model.command_envelope import CommandEnvelope, Expectation
from verdict.model.message import END_OF_TIME
from verdict.wire.avro.primitives import text_in, write_long, write_text
from verdict.wire.avro.reader import rest_of

LAYOUT = [*CommandEnvelope.model_fields]  # the order in which `read_envelope` reads
WORDS = [*Expectation]
ID, NAME, ANY_LENGTH = 128, 256, 2**63  # characters
NOTHING, SOMETHING = 0, 2  # Avro's mark of an optional value, and of the second kind of a choice


class SlicedEnvelope(NamedTuple):
    """What of an envelope a verdict depends on, or hands on.

    Slices are what Avro's newest schemas write of a field, whoever wrote the command: `expected` as
    a response tells it. `actor` and `trace` are optional texts.
    """

    command: bytes
    aggregate: bytes
    expected_version: int | Expectation
    expected: bytes
    deadline: int | None
    correlation: bytes
    actor: bytes
    trace: bytes
    traceparent: str | None

    @property
    def command_id(self) -> str:
        """The id of the command."""
        return text_in(self.command).decode()

    @property
    def aggregate_id(self) -> str:
        """The id of the aggregate that it is addressed to."""
        return text_in(self.aggregate).decode()

    @property
    def correlation_id(self) -> str:
        """The flow that the command belongs to; one that names none begins its own."""
        return text_in(self.correlation).decode()

    @property
    def sender(self) -> str | None:
        """On whose behalf the command was sent, if the sender says so."""
        return text_in(self.actor[1:]).decode() if self.actor[0] else None


class UnsoundEnvelopeError(ValueError):
    """Bytes are no envelope, or not as our writers would write it."""


def sliced(envelope: CommandEnvelope) -> SlicedEnvelope:
    """Return an envelope that came in another form as if it had come in Avro."""
    command, correlation = write_text(envelope.command_id), envelope.correlation_id
    return SlicedEnvelope(
        command,
        write_text(envelope.aggregate_id),
        envelope.expected_version,
        _as_a_response_tells(envelope.expected_version),
        envelope.deadline,
        command if correlation is None else write_text(correlation),
        _optional(envelope.actor),
        _optional(envelope.traceparent),
        envelope.traceparent,
    )


def _as_a_response_tells(expected: int | Expectation) -> bytes:
    if isinstance(expected, Expectation):
        return b"\4" + write_long(WORDS.index(expected))
    return b"\2" + write_long(expected)


def _optional(text: str | None) -> bytes:
    return b"\0" if text is None else b"\2" + write_text(text)


def read_envelope(b: bytes, i: int) -> tuple[SlicedEnvelope, int]:
    """Return the envelope that begins at `i` in the newest Avro, and where its payload begins.

    What it returns is what `CommandEnvelope` accepts, and each slice what our writers would write.

    Raises:
        UnsoundEnvelopeError, ValueError, LookupError: It is another one, or none;
            `CommandEnvelope` says why.
    """
    end = _text(b, i, ID)
    command = b[i:end]
    i, end = end, _text(b, end, NAME)
    aggregate = b[i:end]
    expected_version, i = _expectation(b, end)
    expected = (b"\4" if b[end] else b"\2") + b[end + 1 : i]
    deadline, i = _optional_time(b, i)
    end = _optional_text(b, i, NAME)
    correlation = b[i + 1 : end] or command
    i = _optional_text(b, end, ANY_LENGTH)  # the cause: nobody asks for it here
    trace = _optional_text(b, i, ANY_LENGTH)
    end = _optional_text(b, trace, ANY_LENGTH)
    traceparent = text_in(b[trace + 1 : end]).decode() if b[trace] else None
    found = SlicedEnvelope(
        command, aggregate, expected_version, expected, deadline, correlation,
        b[i:trace], b[trace:end], traceparent,
    )  # fmt: skip
    return found, _optional_time(b, end)[1]


def _text(b: bytes, i: int, most: int) -> int:
    """Return where a text of 1 to `most` characters without NUL ends."""
    length = b[i]
    end = i + 1 + (length >> 1)
    text = b[i:end]
    if text.isascii() and 0 not in text and not length & 1:  # short, as most are
        return end
    length, begin = _natural(b, i)
    characters = b[begin : begin + length].decode()
    if not 0 < len(characters) <= most or "\0" in characters:
        raise UnsoundEnvelopeError("a text")
    return begin + length


def _optional_text(b: bytes, i: int, most: int) -> int:
    if (kind := b[i]) == NOTHING:
        return i + 1
    if kind != SOMETHING:
        raise UnsoundEnvelopeError("a choice")
    return _text(b, i + 1, most)


def _natural(b: bytes, i: int) -> tuple[int, int]:
    """Return an integer from 0 and where it ends; it must take no more bytes than it needs."""
    twice = b[i]
    i += 1
    if twice > 0x7F:
        twice, i = rest_of(b, i)
        if not b[i - 1]:
            raise UnsoundEnvelopeError("an integer")
    if twice & 1:
        raise UnsoundEnvelopeError("an integer")
    return twice >> 1, i


def _expectation(b: bytes, i: int) -> tuple[int | Expectation, int]:
    if (kind := b[i]) == 0:  # a version
        return _natural(b, i + 1)
    if kind != 2 or b[i + 1] & 0x81:
        raise UnsoundEnvelopeError("a word")
    return WORDS[b[i + 1] >> 1], i + 2


def _optional_time(b: bytes, i: int) -> tuple[int | None, int]:
    if (kind := b[i]) == NOTHING:
        return None, i + 1
    if kind != SOMETHING:
        raise UnsoundEnvelopeError("a choice")
    time, i = _natural(b, i + 1)
    if time > END_OF_TIME:
        raise UnsoundEnvelopeError("a time")
    return time, i
