"""`Latest`, a projection of the newest rows of each group, whatever the group's size."""

from dataclasses import dataclass
from typing import Generic

from verdict.model.aggregate import InvalidApplicationError
from verdict.model.rows import EvolveByType, Row, require_fields

RANK = "rank"  # the column of it


@dataclass(frozen=True)
class Latest(Generic[Row]):
    """The newest rows of each group, as they are now.

    The view shows the group, the rank (1 is the newest), the id of the aggregate, then the other
    fields in their order. When a shown row goes, the next older one comes back.

    Args:
        number: How many are shown of a group.
        row: The named tuple; `Annotated[str, Doc("…")]` is a field with a comment.
        evolve: The function that makes the row of an event.
        by: The field that is the group of a row; a row in which it is None is in no group.
        order_by: The field that says how new a row is; where it is equal, the greater id of the
            aggregate is the newer one.
        index: Fields that readers search by.

    Raises:
        InvalidApplicationError: A field is not there, or has a type that does not fit.
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
