"""The values that cross a wire: immutable, strict, and refusing what they do not know."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import EnumType, StrEnum
from functools import cache, lru_cache
from typing import Annotated, Any, Self, TypeVar

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

A_TIME = "2026-11-21T13:00:00Z"  # as messages suggest it
LARGEST = 2**63 - 1  # Avro's long; an integer beyond it could be accepted but never stored


class Message(BaseModel):
    """An immutable value without unknown fields or silent coercion; bytes are base64 in JSON."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        val_json_bytes="base64",
        ser_json_bytes="base64",
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values in some fields, which nobody checks.

        As pydantic's own, which takes five times as long: there is nothing but fields here.

        Args:
            update: Field → its value.
            deep: Whether what is in the fields is copied, too.
        """
        if deep:
            return super().model_copy(update=update, deep=True)
        changed = update or {}
        fields_set = self.__pydantic_fields_set__ | changed.keys()
        return made_of(self.__class__, {**self.__dict__, **changed}, fields_set)


def made_of(kind: type[Model], fields: dict[str, Any], fields_set: set[str] | None = None) -> Model:
    """Return a model whose fields, all of them, are right by construction; nothing is looked at.

    For what one command or event takes: to check what is known takes longer than all else.
    """
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
    """Read an ISO 8601 time with a zone as epoch milliseconds; leave the rest to validation.

    Raises:
        ValueError: The text is no ISO 8601 time, or has no time zone; names one that would do.
    """
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
    """Show epoch milliseconds as ISO 8601 in UTC, always with milliseconds; any number at all."""
    try:
        return calendar_time(millis)
    except OverflowError:  # in no calendar: a sender's word, where Kafka took it for the time
        return f"{millis} ms after 1970"


def calendar_time(millis: int) -> str:
    """Return epoch milliseconds as ISO 8601 in UTC, always with milliseconds.

    Raises:
        OverflowError: No calendar has them: before year 1 or after year 9999.
    """
    moment = datetime.fromtimestamp(0, UTC) + millis * RESOLUTION
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TimestampMillis:
    """Marks an integer as a time, for the schemas and for people."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Say that a text or a number is read as a time, and that a text is written."""
        text = {"type": "string", "format": "date-time"}
        if handler.mode == "serialization":
            return text
        millis = {"type": "integer", "minimum": 0, "maximum": END_OF_TIME}
        return {"anyOf": [text, millis | {"description": "Epoch milliseconds."}]}


class OpenEnum:
    """Marks an enum that is text in schemas: it may get members without a new version of them."""

    def __get_pydantic_core_schema__(
        self, source: type[StrEnum], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Read the text of a member, which is what Avro gives.

        Raises:
            TypeError: It marks something else.
        """
        if not (isinstance(source, EnumType) and issubclass(source, str)):
            raise TypeError(f"Growing marks an enum of texts, and {source} is none")
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
        """Read hexadecimal in JSON, and write it there."""
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
    ) -> dict[str, Any]:
        """Say that they are written as hexadecimal."""
        return {"type": "string", "pattern": "^[0-9a-f]*$"}


def _hexadecimal(value: bytes, info: SerializationInfo) -> Any:
    return value if info.mode == "python" else value.hex()


CANONICAL_MODE = "canonical"  # of serialization: as Python's values, but hashes as in JSON


RESOLUTION = datetime.resolution * 1000
END_OF_TIME = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z: what every database can store

Instant = Annotated[
    int, Field(ge=0, le=END_OF_TIME), BeforeValidator(epoch_millis), TimestampMillis()
]
Hash = Annotated[bytes, HexBytes()]
NO_NUL = r"^[^\x00]+$"  # PostgreSQL cannot store NUL in a text
Text = Annotated[str, StringConstraints(min_length=1, pattern=NO_NUL)]
# what tables are keyed by: an index of PostgreSQL takes 2,704 bytes
Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=NO_NUL)]
name_rule: TypeAdapter[str] = TypeAdapter(Name)
Positive = Annotated[int, Field(gt=0, le=LARGEST)]
Cents = Annotated[int, Field(gt=0, le=LARGEST, description="Amount in cents.")]
