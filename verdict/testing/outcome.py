"""What became of one command, held against what a test expects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from verdict.model.message import Event
from verdict.model.reason import Reason
from verdict.testing.diff import difference, told
from verdict.wire.response import Details, Response
from verdict.write_side.decide.handle import DecidedCommand
from verdict.write_side.decide.record import StoredEvent

After = TypeVar("After")

NOTHING = "accepted, and nothing happens"


@dataclass(frozen=True)
class CommandOutcome(Generic[After]):
    """The verdict on a command; each expectation returns what may be asked next.

    Args:
        history: What had happened before.
        asked: The command in words.
        verdict: What became of it.
        after: To go on from.
    """

    history: Sequence[StoredEvent]
    asked: str
    verdict: DecidedCommand
    after: After

    @property
    def response(self) -> Response:
        """What the sender is told."""
        return self.verdict.response

    def then(self, *events: Event) -> After:
        """Expect that the command is accepted and causes exactly these events, in this order.

        Raises:
            AssertionError: Something else became of it; says what.
        """
        __tracebackhide__ = True  # pytest shows the line of the test instead
        came = [stored.event.payload for stored in self.verdict.events]
        if self._is_refused or self.response.duplicate or came != [*events]:
            raise self._failure([*map(repr, events)] or [NOTHING], self._said())
        return self.after

    def then_nothing_happens(self) -> After:
        """Expect that the command is accepted and causes no event."""
        __tracebackhide__ = True
        return self.then()

    def then_refused(
        self, reason: Reason | str, message: str | None = None, **details: int | str
    ) -> After:
        """Expect that the command is refused.

        Raises:
            AssertionError: Something else became of it; says what.
        """
        __tracebackhide__ = True
        wanted = _refusal(str(reason), message, details)
        known = dict(self.response.details)
        code = known.pop("code", None)
        name = str(self.response.reason if reason in {*Reason} or code is None else code)
        same = name == reason and self._is_refused and not self.response.duplicate
        said = self.response.message if message is not None or not same else None
        came = _refusal(name, said, known if details else {}) if self._is_refused else self._said()
        if not same or wanted != came:
            raise self._failure(wanted, came)
        return self.after

    def then_answered_again(self) -> After:
        """Expect that the command id is known, so the original outcome is told once more.

        Raises:
            AssertionError: It is decided as a new command.
        """
        __tracebackhide__ = True
        if not self.response.duplicate:
            raise self._failure(["the original outcome again"], self._said())
        return self.after

    @property
    def _is_refused(self) -> bool:
        return self.response.reason is not None

    def _said(self) -> list[str]:
        response = self.response
        if response.duplicate:
            return [f"the original outcome again: {response.reason or 'ACCEPTED'}"]
        if response.reason is not None:
            return _refusal(response.reason, response.message, response.details)
        return [repr(stored.event.payload) for stored in self.verdict.events] or [NOTHING]

    def _failure(self, expected: Sequence[str], came: Sequence[str]) -> AssertionError:
        what = "the verdict is another one"
        return difference(what, told(self.history), [self.asked], expected, came)


def _refusal(reason: str, message: str | None, details: Details) -> list[str]:
    said = [] if message is None else [f"  {message}"]
    return [
        f"refused {reason}",
        *said,
        *(f"  {name}={details[name]!r}" for name in sorted(details)),
    ]
