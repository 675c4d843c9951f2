"""Commands to bytes and back: Avro from our clients, JSON from every other hand."""

from typing import Any

from pydantic_core import from_json

from verdict.application import current, of_the_application
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Message
from verdict.wire.avro_reader import last_field_reader
from verdict.wire.codec import HEADER_BYTES, Undecodable, codec, prefix_of
from verdict.wire.schema_files import newest
from verdict.wire.sliced_envelope import LAYOUT, SlicedEnvelope, Unsound, read_envelope

JSON_OPENING = b"{"


def encode_command(aggregate_type: str, envelope: CommandEnvelope, payload: Message) -> bytes:
    """Return the framed Avro bytes of a command; `envelope.payload` is replaced by `payload`."""
    return codec(f"{aggregate_type}_command").encode(
        envelope.model_copy(update={"payload": payload})
    )


def decode_command(aggregate_type: str, value: bytes) -> dict[str, Any]:
    """Return the envelope's fields as they were sent, unchecked; `payload` carries its `type`.

    Raises:
        Undecodable: The bytes are neither a JSON object nor an Avro command of this aggregate.
    """
    if value[:1] == JSON_OPENING:
        return _from_json(value)
    found = codec(f"{aggregate_type}_command").decode(value)
    name, payload = found["payload"]
    found["payload"] = {"type": name.rpartition(".")[2], **payload}
    return found


def _from_json(value: bytes) -> dict[str, Any]:
    try:
        found = from_json(value, allow_inf_nan=False)
    except ValueError as error:
        raise Undecodable(f"not JSON: {error}") from error
    assert isinstance(found, dict)  # it began with a brace
    return found


class SoundCommands:
    """Reads those commands of one aggregate that are as our clients write them.

    Args:
        aggregate_type: Of whom.
    """

    def __init__(self, aggregate_type: str) -> None:
        written = newest(f"{aggregate_type}_command")
        types = current().aggregate(aggregate_type).command_types
        namespace = written.schema["namespace"]
        self._prefix = prefix_of(written)
        self._is_known = [field["name"] for field in written.schema["fields"]] == LAYOUT
        self._read = last_field_reader(written.schema)
        self._validators = {
            f"{namespace}.{name}": kind.__pydantic_validator__.validate_python
            for name, kind in types.items()
        }

    def read(self, value: bytes) -> tuple[SlicedEnvelope, Command]:
        """Return the envelope and the command in `value`.

        Raises:
            Exception: Any, for what is written in another way, and for what is malformed.
        """
        if value[:HEADER_BYTES] != self._prefix or not self._is_known:
            raise Unsound("another form")
        envelope, begin = read_envelope(value, HEADER_BYTES)
        (name, fields), end = self._read(value, begin)
        if end != len(value):
            raise Unsound("bytes are left over")
        payload: Command = self._validators[name](fields)
        return envelope, payload


@of_the_application
def sound_commands(aggregate_type: str) -> SoundCommands:
    """Return what reads the sound commands of an aggregate, made once per process."""
    return SoundCommands(aggregate_type)
