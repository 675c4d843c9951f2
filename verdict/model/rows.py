"""`Rows` and `Latest`: projections of one row per aggregate, and of the newest rows of groups.

A row is a `typing.NamedTuple`. Its fields are `str`, `int`, `bool`, `Instant`, a `Literal` of one
of these, or one of these `| None`; the columns of the tables follow from them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from typing_extensions import Doc

from verdict.model.aggregate import InvalidApplicationError
from verdict.model.field_types import is_optional, unwrapped
from verdict.model.message import TimestampMillis

Row = TypeVar("Row", bound=tuple[Any, ...])

Evolve = Callable[[Row | None, Any], Row | None]
"""(row before, recorded event or state) → row after; None deletes the row. Pure."""

EvolveByType = Evolve[Row] | Mapping[str, Evolve[Row]]
"""One function, or one for each aggregate type."""

OF_THE_ENGINE = frozenset(
    {"aggregate_id", "aggregate_type", "group_key", "left_with", "present", "version"}
)
FieldType = Literal["text", "integer", "boolean", "time"]
PLAIN: Mapping[Any, FieldType] = {str: "text", int: "integer", bool: "boolean"}


class NoRowError(LookupError):
    """An event changes a row that does not exist."""

    def __init__(self) -> None:
        super().__init__("there is no row for this event to change")


def there(row: Row | None) -> Row:
    """Return the row before an event that needs one.

    Raises:
        NoRowError: It is None; the projection then blocks the aggregate at this event.
    """
    if row is None:
        raise NoRowError
    return row


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """One row per aggregate; the view shows its id, then the fields in their order.

    Args:
        row: The named tuple; `Annotated[str, Doc("…")]` is a field with a comment.
        evolve: (row before, event) → row after, or one such function per aggregate type.
        index: Fields that readers search by.
    """

    row: type[Row]
    evolve: EvolveByType[Row]
    index: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_fields(self.row, self.index)


@dataclass(frozen=True, slots=True)
class RowField:
    """A field of a row; `about` is the comment of its column."""

    name: str
    type: FieldType
    optional: bool
    about: str


def row_fields(row: type[Any]) -> dict[str, RowField]:
    """Return the fields of a row by name, in their order."""
    if not (isinstance(row, type) and issubclass(row, tuple) and hasattr(row, "_fields")):
        raise InvalidApplicationError(
            f"the row {row!r} is no class of typing.NamedTuple: make it one"
        )
    return {field.name: field for field in _fields(row)}


def require_fields(row: type[Any], names: Iterable[str]) -> Mapping[str, RowField]:
    """Return the fields of a row by name; raise if one of `names` is not among them."""
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


RANK = "rank"  # the column of it


@dataclass(frozen=True)
class Latest(Generic[Row]):
    """The newest rows of each group, as they are now.

    The view shows the group, the rank (1 is the newest), the id of the aggregate, then the other
    fields. If a row goes, the next older one comes back.

    Args:
        number: How many rows of a group are shown.
        row: The named tuple; `Annotated[str, Doc("…")]` is a field with a comment.
        evolve: (row before, event) → row after.
        by: The field of the group; None means no group.
        order_by: The field that orders rows; among equal ones the greater aggregate id is newer.
        index: Fields that readers search by.

    Raises:
        InvalidApplicationError: A field is missing, or its type does not fit.
    """

    number: int
    row: type[Row]
    evolve: EvolveByType[Row]
    by: str
    order_by: str
    index: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fields = require_fields(self.row, (self.by, self.order_by, *self.index))
        if self.number < 1:
            raise InvalidApplicationError(
                f"the latest {self.number} rows are none: take a number above 0"
            )
        if fields[self.by].type != "text":
            raise InvalidApplicationError(
                f"field {self.by!r} of {self.row.__name__} is a group: make it a str"
            )
        if fields[self.order_by].optional:
            raise InvalidApplicationError(
                f"field {self.order_by!r} of {self.row.__name__} gives the order, so it cannot be "
                "None: drop `| None`"
            )
