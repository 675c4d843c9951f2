"""Policies as values, and the commands that they dispatch."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, get_args, get_type_hints

from typing_extensions import TypeVar
from uuid_utils import UUID, uuid5

from verdict.model.aggregate import InvalidApplicationError
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation, Expected, parse_expectation
from verdict.model.recorded_event import RecordedEvent

ACTOR = "policy:"  # prefix of the actor of each command of a policy
COMMAND_IDS = UUID("0d3c0e2a-9b7f-5f4e-8f56-6a5a5d1f7c3b")  # never changes: ids derive from it

Asks = TypeVar("Asks", bound=Command, covariant=True, default=Command)


@dataclass(frozen=True, slots=True)
class Dispatch(Generic[Asks]):
    """A command that a policy sends because of an event; `Dispatch[THIS | THAT]` limits its type.

    By default it expects no version, which a policy cannot know: the rules of the aggregate decide,
    and a repetition has the same command id.
    """

    aggregate_id: str
    command: Asks
    expected_version: Expected = Expectation.ANY


@dataclass(frozen=True, slots=True)
class Policy:
    """Reacts to events with commands.

    Args:
        name: The permanent name: command ids derive from it.
        follows: The aggregate types whose events it looks at.
        react: (event, settings by name) → commands to dispatch; pure. The page shows the commands
            of its annotation.
        settings: The settings of the application that `react` takes.
        expected_rejections: Reasons and codes of rules that need no attention:
            `{Reason.DELETED, "OVERFILL"}`. BUSINESS_RULE includes all rules. Prefer `Reason.…`:
            a misspelled reason counts as the code of a rule.

    Raises:
        InvalidApplicationError: `expected_rejections` is no set of names.
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
        object.__setattr__(self, "expected_rejections", frozenset(map(str, names)))

    @property
    def asks(self) -> tuple[type[Command], ...]:
        """The commands of the annotation of `react`; empty if it has none."""
        react = self.react.func if isinstance(self.react, partial) else self.react
        try:
            returned = get_type_hints(react).get("return")
        except (NameError, TypeError):  # imported for type checkers alone, or no function
            return ()
        return tuple(dict.fromkeys(_commands_in(returned)))

    def bound(self, chosen: Mapping[str, object]) -> "Policy":
        """Return the policy with its settings among these."""
        given = {name: chosen[name] for name in self.settings if name in chosen}
        return replace(self, react=partial(self.react, **given), settings=())


def _commands_in(annotation: Any) -> Iterator[type[Command]]:
    if isinstance(annotation, type) and issubclass(annotation, Command):
        yield from () if annotation is Command else (annotation,)
    for inside in get_args(annotation):
        yield from _commands_in(inside)


def commands_of(policy: Policy, event: RecordedEvent) -> Iterator[tuple[CommandEnvelope, Command]]:
    """Yield the commands that `policy` dispatches for `event`, each time with the same ids."""
    for index, asked in enumerate(policy.react(event)):
        envelope = CommandEnvelope(
            command_id=command_id(policy.name, event.event_id, index),
            aggregate_id=asked.aggregate_id,
            expected_version=parse_expectation(asked.expected_version),
            correlation_id=event.correlation_id,
            causation_id=event.event_id,
            actor=f"{ACTOR}{policy.name}",
            traceparent=event.traceparent,
            payload={},
        )
        yield envelope, asked.command


def command_id(policy: str, event_id: str, index: int) -> str:
    """Return the id of a policy's command number `index` for an event (UUIDv5)."""
    return str(uuid5(COMMAND_IDS, f"{policy}\0{event_id}\0{index}"))
