"""What came of a command or an event, and what a test expects of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import ndiff
from typing import Generic, TypeVar

from verdict.model.message import Event
from verdict.model.reason import Reason
from verdict.wire.response import Details, Response
from verdict.wire.stored_event import StoredEvent
from verdict.write_side.decide.command_checks import DecidedCommand

After = TypeVar("After")
Follows = TypeVar("Follows")

NOTHING = "accepted, and nothing happens"


@dataclass(frozen=True)
class CommandOutcome(Generic[After]):
    """The verdict on a command. An expectation that does not hold raises `AssertionError`.

    Each one that holds returns `after`: the history with the new events, to go on from.
    """

    history: Sequence[StoredEvent]
    asked: str
    verdict: DecidedCommand
    after: After

    @property
    def response(self) -> Response:
        """The response that the sender gets."""
        return self.verdict.response

    def then(self, *events: Event) -> After:
        """Expect that the command is accepted and causes these events, in this order; or none."""
        __tracebackhide__ = True  # pytest shows the line of the test instead
        came = [stored.event.payload for stored in self.verdict.events]
        if self.response.reason or self.response.duplicate or came != [*events]:
            raise self._failure([*map(repr, events)] or [NOTHING], self._said())
        return self.after

    def then_refused(
        self, reason: Reason | str, message: str | None = None, **details: int | str
    ) -> After:
        """Expect that the command is refused for a reason, or by the rule of a code."""
        __tracebackhide__ = True
        wanted = _refusal(str(reason), message, details)
        known = dict(self.response.details)
        code = known.pop("code", None)
        name = str(self.response.reason if reason in {*Reason} or code is None else code)
        is_refused = self.response.reason is not None
        same = name == reason and is_refused and not self.response.duplicate
        said = self.response.message if message is not None or not same else None
        came = _refusal(name, said, known if details else {}) if is_refused else self._said()
        if not same or wanted != came:
            raise self._failure(wanted, came)
        return self.after

    def then_answered_again(self) -> After:
        """Expect that the command id is known: the answer is the original outcome."""
        __tracebackhide__ = True
        if not self.response.duplicate:
            raise self._failure(["the original outcome again"], self._said())
        return self.after

    def _said(self) -> list[str]:
        response = self.response
        if response.duplicate:
            return [f"the original outcome again: {response.reason or 'ACCEPTED'}"]
        if response.reason is not None:
            return _refusal(response.reason, response.message, response.details)
        return [repr(stored.event.payload) for stored in self.verdict.events] or [NOTHING]

    def _failure(self, expected: Sequence[str], came: Sequence[str]) -> AssertionError:
        what = "the verdict is another one"
        return difference(what, lines_of(self.history), [self.asked], expected, came)


@dataclass(frozen=True)
class GivenReactions(Generic[Follows]):
    """What a policy or notification made of a history."""

    history: Sequence[StoredEvent]
    name: str
    came: Sequence[Follows]

    def then(self, *expected: Follows) -> None:
        """Expect exactly this, in this order."""
        __tracebackhide__ = True
        if [*expected] != [*self.came]:
            raise difference(
                f"something else follows by {self.name}",
                lines_of(self.history),
                [f"{self.name} looks at them"],
                [*map(repr, expected)],
                [*map(repr, self.came)],
            )


def _refusal(reason: str, message: str | None, details: Details) -> list[str]:
    said = [] if message is None else [f"  {message}"]
    return [
        f"refused {reason}",
        *said,
        *(f"  {name}={details[name]!r}" for name in sorted(details)),
    ]


def difference(
    what: str,
    given: Iterable[str],
    asked: Iterable[str],
    expected: Sequence[str],
    came: Sequence[str],
) -> AssertionError:
    """Return the error of a test whose expectation does not hold."""
    then = [line.rstrip("\n") for line in ndiff([*expected], [*came])]
    lines = [f"{what} (- expected, + came)"]
    for name, part in (("given", given), ("when", asked), ("then", then)):
        lines += [name, *(f"  {line}" for line in [*part] or ["(nothing)"])]
    return AssertionError("\n".join(lines))


def lines_of(history: Iterable[StoredEvent]) -> list[str]:
    """Return a line for each event of a history."""
    return [
        f"{one.event.aggregate_type} {one.event.aggregate_id!r} v{one.event.version}: "
        f"{one.event.payload!r}"
        for one in history
    ]
