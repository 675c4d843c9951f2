"""Commands as our own clients write them, read fast; all others go through `commands`."""

from typing import Any

from verdict.model.aggregate import Aggregate
from verdict.model.command import Command
from verdict.wire.avro.envelope import LAYOUT, SlicedEnvelope, UnsoundEnvelopeError, read_envelope
from verdict.wire.avro.reader import last_field_reader
from verdict.wire.codec import HEADER_BYTES, prefix_of
from verdict.wire.schemas.files import SchemaVersion


class SoundCommands:
    """Reads those commands of one aggregate that are as our clients write them.

    Args:
        written: The newest schema of its commands.
        aggregate: Which one.
    """

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
        """Return the envelope and the command in `value`.

        Raises:
            Exception: Any, for what is written in another way, and for what is malformed.
        """
        if value[:HEADER_BYTES] != self._prefix or not self._is_known:
            raise UnsoundEnvelopeError("another form")
        envelope, begin = read_envelope(value, HEADER_BYTES)
        (name, fields), end = self._read(value, begin)
        if end != len(value):
            raise UnsoundEnvelopeError("bytes are left over")
        payload: Command = self._validators[name](fields)
        return envelope, payload
