"""Who may see what of the read side."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

AUDITED = "projection_intervention"  # who may select from this view may see payloads
READER, AUDITOR, SUPPORT = "verdict_reader", "verdict_auditor", "verdict_support"

LETTERS = frozenset({"dead_letter", "dead_letter_intervention"})


@dataclass(frozen=True, slots=True)
class Roles:
    """Who may see what; each sees what those before it do, and more.

    A `reader` sees the read models, and of events what is not personal; an `auditor` their payloads
    besides, and what people decided about them; `support` dead letters besides.
    """

    reader: str = READER
    auditor: str = AUDITOR
    support: str = SUPPORT

    def each(self) -> Sequence[tuple[str, Collection[str]]]:
        """Return the roles, each with the views that stay closed to it."""
        return (
            (self.reader, LETTERS | {AUDITED}), (self.auditor, LETTERS), (self.support, ()),
        )  # fmt: skip

    def open_to(self, role: str, views: Sequence[str]) -> list[str]:
        """Return those of `views` that a role may select from."""
        closed = dict(self.each())[role]
        return [view for view in views if view not in closed]


ROLES = Roles()
