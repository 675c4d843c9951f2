"""A fast reader of commands as our clients write them; `wire.commands` reads all others.

It cuts the envelope into slices, most of which events and responses copy.
"""

from typing import Any, NamedTuple

from verdict.model.aggregate import Aggregate
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation
from verdict.model.message import END_OF_TIME
from verdict.wire.avro.reader import last_field_reader, rest_of
from verdict.wire.avro.writer import text_in, write_long, write_text
from verdict.wire.codec import HEADER_BYTES, prefix_of
from verdict.wire.schemas.files import SchemaVersion

LAYOUT = [*CommandEnvelope.model_fields]  # the order in which `read_envelope` reads
WORDS = [*Expectation]
ID, NAME, ANY_LENGTH = 128, 256, 2**63  # characters
NOTHING, SOMETHING = 0, 2  # Avro's index of an absent, and of a present optional value


class SlicedEnvelope(NamedTuple):
    """The parts of an envelope that a verdict needs.

    Slices are fields as our newest schemas write them, `expected` as in a response. `actor` and
    `trace` are optional texts.
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
        return text_in(self.command).decode()

    @property
    def aggregate_id(self) -> str:
        return text_in(self.aggregate).decode()

    @property
    def correlation_id(self) -> str:
        """The id of the flow; by default that of the command."""
        return text_in(self.correlation).decode()

    @property
    def sender(self) -> str | None:
        """The actor, if the sender names one."""
        return text_in(self.actor[1:]).decode() if self.actor[0] else None


class UnsoundEnvelopeError(ValueError):
    """Bytes are no envelope, or not as our writers write it."""


def sliced(envelope: CommandEnvelope) -> SlicedEnvelope:
    """Return the slices of an envelope that came in another form than the newest Avro."""
    command, correlation = write_text(envelope.command_id), envelope.correlation_id
    version = envelope.expected_version
    return SlicedEnvelope(
        command,
        write_text(envelope.aggregate_id),
        version,
        b"\4" + write_long(WORDS.index(version))
        if isinstance(version, Expectation)
        else b"\2" + write_long(version),
        envelope.deadline,
        command if correlation is None else write_text(correlation),
        _optional(envelope.actor),
        _optional(envelope.traceparent),
        envelope.traceparent,
    )


def _optional(text: str | None) -> bytes:
    return b"\0" if text is None else b"\2" + write_text(text)


def read_envelope(b: bytes, i: int) -> tuple[SlicedEnvelope, int]:
    """Return the envelope at `i` in the newest Avro, and where its payload begins.

    It raises an error for what `CommandEnvelope` refuses, and for bytes that our writers do not
    write.
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
    i = _optional_text(b, end, ANY_LENGTH)  # the causation id is not needed
    trace = _optional_text(b, i, ANY_LENGTH)
    end = _optional_text(b, trace, ANY_LENGTH)
    traceparent = text_in(b[trace + 1 : end]).decode() if b[trace] else None
    found = SlicedEnvelope(
        command, aggregate, expected_version, expected, deadline, correlation,
        b[i:trace], b[trace:end], traceparent,
    )  # fmt: skip
    return found, _optional_time(b, end)[1]


def _text(b: bytes, i: int, most: int) -> int:
    """Return the end of a text of 1 to `most` characters without NUL."""
    length = b[i]
    end = i + 1 + (length >> 1)
    text = b[i:end]
    if text.isascii() and 0 not in text and not length & 1:  # short, like most texts
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
    """Return an integer from 0 in its shortest form, and where it ends."""
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


class SoundCommands:
    """Reads commands of one aggregate; `written` is their newest schema."""

    def __init__(self, written: SchemaVersion, aggregate: Aggregate[Any]) -> None:
        namespace = written.schema["namespace"]
        self._prefix = prefix_of(written)
        self._is_known = [field["name"] for field in written.schema["fields"]] == LAYOUT
        self._read = last_field_reader(written.schema)
        self._validators = {
            f"{namespace}.{name}": kind.__pydantic_validator__.validate_python
            for name, kind in aggregate.command_types.items()
        }

    def read(self, value: bytes) -> tuple[SlicedEnvelope, Command]:
        """Return the envelope and the command in `value`; raise any exception for other bytes."""
        if value[:HEADER_BYTES] != self._prefix or not self._is_known:
            raise UnsoundEnvelopeError("another form")
        envelope, begin = read_envelope(value, HEADER_BYTES)
        (name, fields), end = self._read(value, begin)
        if end != len(value):
            raise UnsoundEnvelopeError("bytes are left over")
        payload: Command = self._validators[name](fields)
        return envelope, payload
