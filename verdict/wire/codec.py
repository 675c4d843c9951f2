"""Records to bytes and back: `00`, a 4-byte big-endian schema id, an Avro body.

This is Confluent's wire format, so its deserializers and every Kafka UI can read the topics.
"""

from functools import cache
from io import BytesIO
from typing import Any

from verdict.model.message import Fields
from verdict.wire.avro.reader import Reader, avro_reader
from verdict.wire.avro.writer import avro_writer
from verdict.wire.schemas.files import ENGINE, FIRST_FREE_ID, SchemaFiles, SchemaVersion

MAGIC = b"\0"
HEADER_BYTES = 5


class DecodeError(ValueError):
    """Bytes are no record of the wanted kind; the message says why."""


class Codec:
    """Writes the newest schema of a subject, such as `order_event`, and reads all its versions."""

    def __init__(self, subject: str, schemas: SchemaFiles) -> None:
        self._subject = subject
        self._schemas = schemas
        self._older: dict[int, Reader] = {}
        self._newest = schemas.newest(subject)
        self._prefix = prefix_of(self._newest)
        self._write = avro_writer(self._newest.schema)
        self._read = avro_reader(self._newest.schema)

    def encode(self, record: object) -> bytes:
        """Return the framed bytes of an object with the attributes of the schema.

        An object that does not fit it raises a ValueError, TypeError, LookupError or
        AttributeError.
        """
        return self._prefix + self._write(record)

    def decode(self, value: bytes, *, newer: bool = False) -> Fields:
        """Return the fields of a framed record; a union of records becomes (name, fields).

        If `newer`, a schema of a newer verdict is read as far as it is known here. Bytes of another
        record, of an unknown schema, or damaged ones raise `DecodeError`.
        """
        written, read = self._newest, self._read
        ahead = newer and self._is_ahead(value)
        if value[:HEADER_BYTES] != self._prefix and not ahead:
            written = self._written_with(value)
            if written.id not in self._older:
                self._older[written.id] = _older_reader(written, self._newest)
            read = self._older[written.id]
        try:
            fields, end = read(value, HEADER_BYTES)
        except Exception as error:  # any failure is the fault of bytes, which anyone may send
            raise DecodeError(
                f"Avro body does not fit schema {written.id} ({self._subject} "
                f"v{written.version}): {type(error).__name__} {error}"[:500]
            ) from error
        if (rest := len(value) - end) and not ahead:
            raise DecodeError(f"{rest} bytes are left over behind the {self._subject} record")
        assert isinstance(fields, dict)  # each of our schemas is a record
        return fields

    def _is_ahead(self, value: bytes) -> bool:
        """Return whether the schema id is a newer one of the engine."""
        schema_id = schema_id_of(value)
        is_of_the_engine = self._newest.id < schema_id < FIRST_FREE_ID
        return value[:1] == MAGIC and is_of_the_engine and schema_id not in self._schemas.subjects

    def _written_with(self, value: bytes) -> SchemaVersion:
        if len(value) < HEADER_BYTES or value[:1] != MAGIC:
            raise DecodeError("value has no Confluent header: a zero byte and a 4-byte schema id")
        schema_id = schema_id_of(value)
        if (version := self._schemas.versions_of(self._subject).get(schema_id)) is not None:
            return version
        if (other := self._schemas.subjects.get(schema_id)) is None:
            raise DecodeError(
                f"schema id {schema_id} is unknown here (newer, or of another application)"
            )
        raise DecodeError(f"schema id {schema_id} is {other}, not {self._subject}")


def prefix_of(version: SchemaVersion) -> bytes:
    """Return the first bytes of each record of this schema."""
    return MAGIC + version.id.to_bytes(4, "big")


def schema_id_of(value: bytes) -> int:
    """Return the schema id of a framed record."""
    return int.from_bytes(value[1:HEADER_BYTES], "big")


@cache
def engine_codec(subject: str) -> Codec:
    """Return the codec of a record of the engine, such as `response`."""
    return Codec(subject, ENGINE)


def _older_reader(written: SchemaVersion, newest: SchemaVersion) -> Reader:
    import fastavro  # slow to load

    # without logical types times stay integers, which is much faster
    parsed: list[Any] = [fastavro.parse_schema(_plain(one.schema)) for one in (written, newest)]
    theirs, ours = parsed
    choices = {  # a union of one, whose name the override leaves out
        field["name"]: field["type"][0]["name"]
        for field in theirs["fields"]
        if isinstance(field["type"], list) and len(field["type"]) == 1
    }

    def read(value: bytes, start: int) -> tuple[Any, int]:
        body = BytesIO(value)
        body.seek(start)
        fields: Any = fastavro.schemaless_reader(
            body, theirs, ours, return_record_name=True, return_record_name_override=True
        )
        fields.update({field: (name, fields[field]) for field, name in choices.items()})
        return fields, body.tell()

    return read


def _plain(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_plain(member) for member in schema]
    if isinstance(schema, dict):
        return {name: _plain(part) for name, part in schema.items() if name != "logicalType"}
    return schema
