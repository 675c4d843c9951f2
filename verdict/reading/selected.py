"""What readers get: the rows that they asked for, or why not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from verdict.errors import VerdictError

Parameters = Sequence[Any] | dict[str, Any]


class NotForReaders(VerdictError):
    """A statement wants something else than to select from the views."""

    def __init__(self, wanted: str, views: Sequence[str]) -> None:
        super().__init__(
            f"readers may select from the views {', '.join(views)}, and nothing else: "
            f"this statement wants {wanted}"
        )


class NotAdmitted(VerdictError):
    """The database does not let this user read as a reader."""

    def __init__(self, database: str, role: str, why: object) -> None:
        super().__init__(
            f"{database} cannot be read as {role} ({why}): start `verdict up` on it once, or let "
            f"an administrator run `GRANT {role} TO …`"
        )


@dataclass(frozen=True, slots=True)
class Selected:
    """The answer to a query: its columns, and its rows as they are read from the database.

    Times are ISO 8601 texts, truth values 0 and 1.
    """

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
