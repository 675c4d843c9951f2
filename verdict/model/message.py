"""Messages: immutable, strict values without unknown fields; times, hashes and texts in them."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import EnumType, StrEnum
from functools import cache, lru_cache
from typing import Annotated, Any, Self, TypeVar, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializationInfo,
    StringConstraints,
    TypeAdapter,
)
from pydantic_core import CoreSchema, core_schema

Model = TypeVar("Model", bound=BaseModel)
Fields = dict[str, Any]
"""Values by the names of fields, unchecked."""
JsonObject = dict[str, Any]
"""An object of JSON, or a JSON schema."""

A_TIME = "2026-11-21T13:00:00Z"  # an example for error messages
LARGEST = 2**63 - 1  # Avro's long


def base64_text(value: bytes) -> str:
    """Return bytes as base64."""
    return b64encode(value).decode()


BASE64 = core_schema.plain_serializer_function_ser_schema(base64_text, when_used="json")


def _show_base64(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return type(schema)(map(_show_base64, schema))
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "bytes":
        return {**schema, "serialization": BASE64}
    return {name: _show_base64(part) for name, part in schema.items()}


class Message(BaseModel):
    """An immutable value without unknown fields or silent coercion; bytes are base64 in JSON."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        val_json_bytes="base64",
    )

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Show bytes as base64, not in pydantic's alphabet for addresses."""
        return cast(CoreSchema, _show_base64(handler(source)))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values in some fields, unchecked; faster than pydantic's own."""
        if deep:
            return super().model_copy(update=update, deep=True)
        changed = update or {}
        fields_set = self.__pydantic_fields_set__ | changed.keys()
        return made_of(self.__class__, {**self.__dict__, **changed}, fields_set)


def made_of(kind: type[Model], fields: Fields, fields_set: set[str] | None = None) -> Model:
    """Return a model of fields that are all there and right by construction, unchecked: faster."""
    made = kind.__new__(kind)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", _names(kind) if fields_set is None else fields_set)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


_set = object.__setattr__


@cache
def _names(kind: type[BaseModel]) -> set[str]:
    return set(kind.model_fields)


class Event(Message):
    """A fact of one aggregate; its class name and fields are a storage format."""


def epoch_millis(value: Any) -> Any:
    """Read an ISO 8601 time with a zone as epoch milliseconds; leave what is no text as it is."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is no time with a zone, such as {A_TIME}") from error
    if moment.tzinfo is None:
        raise ValueError(f"time {value!r} needs a time zone, for example {moment.isoformat()}Z")
    return (moment - datetime.fromtimestamp(0, UTC)) // RESOLUTION


@lru_cache(maxsize=4096)  # the records of a batch share their times
def iso_time(millis: int) -> str:
    """Return any epoch milliseconds as a text: ISO 8601 in UTC if a calendar has them."""
    try:
        return calendar_time(millis)
    except OverflowError:  # where Kafka took the time from a sender
        return f"{millis} ms after 1970"


def calendar_time(millis: int) -> str:
    """Return epoch milliseconds as ISO 8601 in UTC; raises `OverflowError`."""
    moment = datetime.fromtimestamp(0, UTC) + millis * RESOLUTION
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TimestampMillis:
    """Marks an integer as a time, for schemas and for people."""

    def __get_pydantic_core_schema__(
        self, source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        shown = core_schema.plain_serializer_function_ser_schema(iso_time, when_used="json")
        return {**handler(source), "serialization": shown}

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonObject:
        text = {"type": "string", "format": "date-time"}
        if handler.mode == "serialization":
            return text
        millis = {"type": "integer", "minimum": 0, "maximum": END_OF_TIME}
        return {"anyOf": [text, millis | {"description": "Epoch milliseconds."}]}


class OpenEnum:
    """Marks an enum that is a text in schemas, so new members need no new schema version."""

    def __get_pydantic_core_schema__(
        self, source: type[StrEnum], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Accept the text of a member, as Avro gives it."""
        if not (isinstance(source, EnumType) and issubclass(source, str)):
            raise TypeError(f"OpenEnum marks an enum of texts, and {source} is none")
        members = {str(member): member for member in source}
        return core_schema.no_info_before_validator_function(
            lambda value: members.get(value, value) if type(value) is str else value,
            handler(source),
        )


class HexBytes:
    """Marks bytes that people read as hexadecimal: hashes and digests."""

    def __get_pydantic_core_schema__(
        self, source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        shown = core_schema.plain_serializer_function_ser_schema(_hexadecimal, info_arg=True)
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(
                bytes.fromhex, core_schema.str_schema()
            ),
            python_schema=handler(source),
            serialization=shown,
        )

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonObject:
        return {"type": "string", "pattern": "^[0-9a-f]*$"}


class Base64:
    """Marks a type whose bytes are base64 in JSON, at any depth."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return cast(CoreSchema, _show_base64(handler(source)))


def _hexadecimal(value: bytes, info: SerializationInfo) -> Any:
    return value if info.mode == "python" else value.hex()


CANONICAL_MODE = "canonical"  # of serialization: Python's values, but hashes as in JSON
RESOLUTION = datetime.resolution * 1000
END_OF_TIME = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z: every database stores it

Instant = Annotated[
    int, Field(ge=0, le=END_OF_TIME), BeforeValidator(epoch_millis), TimestampMillis()
]
Hash = Annotated[bytes, HexBytes()]
NO_NUL = r"^[^\x00]+$"  # PostgreSQL cannot store NUL in a text
Text = Annotated[str, StringConstraints(min_length=1, pattern=NO_NUL)]
# for keys of tables: an index of PostgreSQL takes 2,704 bytes
Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=NO_NUL)]
name_rule: TypeAdapter[str] = TypeAdapter(Name)
Positive = Annotated[int, Field(gt=0, le=LARGEST)]
Cents = Annotated[int, Field(gt=0, le=LARGEST, description="Amount in cents.")]
