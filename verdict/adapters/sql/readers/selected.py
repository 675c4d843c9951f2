"""What readers get: the rows that they asked for, or why not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from verdict.errors import VerdictError

Parameters = Sequence[Any] | dict[str, Any]

WORD = re.compile(r"\w+")


class NotAllowedError(VerdictError):
    """A statement wants something else than to select from the views."""

    def __init__(self, wanted: str) -> None:
        super().__init__(
            "readers may select from the views, which `verdict sql` lists, and from nothing else: "
            f"this statement wants {wanted}"
        )


class SqlError(VerdictError):
    """A statement is no SQL, or names what does not exist."""

    def __init__(self, said: str, views: Sequence[str]) -> None:
        near = [
            one for word in WORD.findall(said) for one in get_close_matches(word, views, 1, 0.8)
        ]
        meant = f"is it {near[0]}? " if near else ""
        super().__init__(
            f"{said}; {meant}`verdict sql` lists the views, `verdict sql VIEW` columns"
        )


class RoleMissingError(VerdictError):
    """The database does not let this user read as a reader."""

    def __init__(self, database: str, role: str, why: object) -> None:
        super().__init__(
            f"{database} cannot be read as {role} ({why}): `verdict up` makes that role when it "
            "starts, or says there what an administrator must run; a login that lacks it needs "
            f"`GRANT {role} TO …`"
        )


@dataclass(frozen=True, slots=True)
class Selected:
    """The answer to a query: its columns, and its rows as they are read from the database.

    Times are ISO 8601 texts, truth values 0 and 1.
    """

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
