"""`Rows`, a projection of one row per aggregate, and what all kinds of projections share.

A row is a `typing.NamedTuple`. Its fields are `str`, `int`, `bool`, `Instant`, a `Literal` of one
of these, or one of these `| None`; the columns of the tables follow from them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from typing_extensions import Doc

from verdict.model.aggregate import InvalidApplicationError
from verdict.model.annotation import is_optional, unwrapped
from verdict.model.message import TimestampMillis

Row = TypeVar("Row", bound=tuple[Any, ...])

Evolve = Callable[[Row | None, Any], Row | None]
"""(row before, recorded event or carried state) → row after; None deletes the row. Pure."""

EvolveByType = Evolve[Row] | Mapping[str, Evolve[Row]]
"""One function, or one for each aggregate type."""

OF_THE_ENGINE = frozenset(
    {"aggregate_id", "aggregate_type", "group_key", "left_with", "present", "version"}
)
FieldType = Literal["text", "integer", "boolean", "time"]
PLAIN: Mapping[Any, FieldType] = {str: "text", int: "integer", bool: "boolean"}


class NoRowError(LookupError):
    """An event changes a row that is not there."""

    def __init__(self) -> None:
        super().__init__("there is no row for this event to change")


def there(row: Row | None) -> Row:
    """Return the row.

    Raises:
        NoRowError: It is None. The aggregate then waits at this event, as for any other error.
    """
    if row is None:
        raise NoRowError
    return row


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """One row per aggregate; the view shows its id, then the fields in their order.

    Args:
        row: The named tuple; `Annotated[str, Doc("…")]` is a field with a comment.
        evolve: The function that makes the row of an event, or one for each aggregate type.
        index: Fields that readers search by.
    """

    row: type[Row]
    evolve: EvolveByType[Row]
    index: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_fields(self.row, self.index)


@dataclass(frozen=True, slots=True)
class RowField:
    """A field of a row: its type, whether it may be None, and the comment of its column."""

    name: str
    type: FieldType
    optional: bool
    about: str


def row_fields(row: type[Any]) -> dict[str, RowField]:
    """Return the fields of a row by name, in their order.

    Raises:
        InvalidApplicationError: It is no named tuple, or a field has another type than those above.
    """
    if not (isinstance(row, type) and issubclass(row, tuple) and hasattr(row, "_fields")):
        raise InvalidApplicationError(
            f"the row {row!r} is no class of typing.NamedTuple: make it one"
        )
    return {field.name: field for field in _fields(row)}


def require_fields(row: type[Any], names: Iterable[str]) -> Mapping[str, RowField]:
    """Return the fields of a row by name, if these are among them.

    Raises:
        InvalidApplicationError: One is not; or as `row_fields`.
    """
    fields = row_fields(row)
    for name in names:
        if name not in fields:
            raise InvalidApplicationError(
                f"{row.__name__} has no field {name!r}: its fields are {', '.join(fields)}"
            )
    return fields


@cache
def _fields(row: Any) -> tuple[RowField, ...]:
    if clash := sorted(OF_THE_ENGINE.intersection(row._fields)):
        raise InvalidApplicationError(
            f"{row.__name__} has a field {clash[0]!r}, and the engine has a column of that name in "
            "the same table: rename the field"
        )
    hints = get_type_hints(row, include_extras=True)
    return tuple(_field(row, name, hints.get(name, str)) for name in row._fields)


def _field(row: type[Any], name: str, annotation: Any) -> RowField:
    inner, marks = unwrapped(annotation)
    about = next((mark.documentation for mark in marks if isinstance(mark, Doc)), "")
    return RowField(name, _type(row, name, inner, marks), is_optional(annotation), about)


def _type(row: type[Any], name: str, inner: Any, marks: tuple[Any, ...]) -> FieldType:
    if any(isinstance(mark, TimestampMillis) for mark in marks):
        return "time"
    kinds = {type(one) for one in get_args(inner)} if get_origin(inner) is Literal else {inner}
    kind = kinds.pop()
    if kinds or kind not in PLAIN:
        raise InvalidApplicationError(
            f"field {name!r} of {row.__name__} has the type {inner!r}: a column holds str, int, "
            "bool, Instant, a Literal of one of them, or one of them and None"
        )
    return PLAIN[kind]
