"""What follows from events: commands of a policy, messages of a notification."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from verdict.testing.diff import difference, told
from verdict.write_side.decide.record import StoredEvent

Follows = TypeVar("Follows")


@dataclass(frozen=True)
class GivenReactions(Generic[Follows]):
    """What `name` made of a history."""

    history: Sequence[StoredEvent]
    name: str
    came: Sequence[Follows]

    def then(self, *expected: Follows) -> None:
        """Expect exactly this, in this order.

        Raises:
            AssertionError: Something else follows; says what.
        """
        __tracebackhide__ = True  # pytest shows the line of the test instead
        if [*expected] != [*self.came]:
            raise difference(
                f"something else follows by {self.name}",
                told(self.history),
                [f"{self.name} looks at them"],
                [*map(repr, expected)],
                [*map(repr, self.came)],
            )

    def then_nothing(self) -> None:
        """Expect that nothing follows."""
        __tracebackhide__ = True
        self.then()
