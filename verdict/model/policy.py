"""What a policy is, as a value, and how what it asks for becomes a command on a topic."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, get_args, get_type_hints

from typing_extensions import TypeVar
from uuid_utils import UUID, uuid5

from verdict.model.aggregate import InvalidApplicationError
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation, Expected, meant
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent

ACTOR = "policy:"  # begins the actor of each command of a policy, before the policy's name
REASONS = frozenset(map(str, Reason))
COMMAND_IDS = UUID("0d3c0e2a-9b7f-5f4e-8f56-6a5a5d1f7c3b")  # fixed for ever: ids derive from it

Asks = TypeVar("Asks", bound=Command, covariant=True, default=Command)


@dataclass(frozen=True, slots=True)
class Dispatch(Generic[Asks]):
    """What a policy asks for because of an event; `Dispatch[THIS | THAT]` says what it may ask for.

    A policy cannot know the version of another aggregate, so it mostly assumes nothing: the
    aggregate's own rules decide, and the derived command id keeps a repetition out.
    """

    aggregate_id: str
    command: Asks
    expected_version: Expected = Expectation.ANY


@dataclass(frozen=True, slots=True)
class Policy:
    """Whenever this happened, that is asked for.

    Args:
        name: Of the policy, for ever: command ids derive from it.
        follows: The aggregate types whose events it looks at.
        react: event, and `settings` → what is asked for because of it; pure: no clock, no chance,
            no I/O. What its annotation says that it returns is drawn on the page.
        settings: The application's settings that it depends on: `react` takes them by their names.
        expected_rejections: Reasons and codes of rules with which its commands may be rejected, so
            that no person has to look at them: `{Reason.DELETED, "OVERFILL"}`. BUSINESS_RULE stands
            for all rules. A misspelled reason counts as the code of a rule, so that it expects
            nothing: `Reason.DELETED` is safer than a text.

    Raises:
        InvalidApplicationError: What it expects is not a set of names, or is a reason in another
            spelling.
    """

    name: str
    follows: tuple[str, ...]
    react: Callable[..., Iterable[Dispatch]]
    settings: tuple[str, ...] = ()
    expected_rejections: Collection[str] = ()

    def __post_init__(self) -> None:
        expected = self.expected_rejections
        names = [] if isinstance(expected, str) else [*expected]
        if isinstance(expected, str) or not all(isinstance(one, str) and one for one in names):
            raise InvalidApplicationError(
                f"policy {self.name!r} expects the rejections {expected!r}: give a set of reasons "
                'and codes of rules, such as {Reason.DELETED, "OVERFILL"}'
            )
        for name in names:
            plain = name.strip().upper().replace("-", "_").replace(" ", "_")
            if name not in REASONS and plain in REASONS:
                raise InvalidApplicationError(
                    f"policy {self.name!r} expects {name!r}, which is not a reason: write {plain}"
                )
        object.__setattr__(self, "expected_rejections", frozenset(map(str, names)))

    @property
    def asks(self) -> tuple[type[Command], ...]:
        """What it asks for, as `react` is annotated; none: it does not say."""
        react = self.react.func if isinstance(self.react, partial) else self.react
        try:
            returned = get_type_hints(react).get("return")
        except (NameError, TypeError):  # imported for type checkers alone, or no function
            return ()
        return tuple(dict.fromkeys(_commands_in(returned)))

    def bound(self, chosen: Mapping[str, object]) -> "Policy":
        """Return the policy as it is with these settings, by name; others are left alone."""
        given = {name: chosen[name] for name in self.settings if name in chosen}
        return replace(self, react=partial(self.react, **given), settings=())


def _commands_in(annotation: Any) -> Iterator[type[Command]]:
    if isinstance(annotation, type) and issubclass(annotation, Command):
        yield from () if annotation is Command else (annotation,)
    for inside in get_args(annotation):
        yield from _commands_in(inside)


@dataclass(frozen=True, slots=True)
class Addressed:
    """A command with all that a record on a commands topic needs."""

    aggregate_type: str
    envelope: CommandEnvelope
    payload: Command


def commands_of(
    policy: Policy, event: RecordedEvent, aggregate_of: Callable[[type[Command]], str]
) -> Iterator[Addressed]:
    """Yield the commands that `policy` asks for because of `event`, each time with the same ids.

    The correlation goes on, the cause is the event: a flow can be followed through every hop.
    """
    for index, asked in enumerate(policy.react(event)):
        yield Addressed(
            aggregate_of(type(asked.command)),
            CommandEnvelope(
                command_id=command_id(policy.name, event.event_id, index),
                aggregate_id=asked.aggregate_id,
                expected_version=meant(asked.expected_version),
                correlation_id=event.correlation_id,
                causation_id=event.event_id,
                actor=f"{ACTOR}{policy.name}",
                traceparent=event.traceparent,
                payload={},
            ),
            asked.command,
        )


def command_id(policy: str, event_id: str, index: int) -> str:
    """Return the id of the command number `index` of a policy's answer to an event (UUIDv5)."""
    return str(uuid5(COMMAND_IDS, f"{policy}\0{event_id}\0{index}"))
