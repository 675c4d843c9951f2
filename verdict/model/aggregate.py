"""What one aggregate is, as a value: its rules, and the commands and events that they speak of."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Any, Generic, TypeVar, cast, get_args

from verdict.errors import VerdictError
from verdict.model.command import Command
from verdict.model.field_types import ADVICE, misnamed, unfit
from verdict.model.life_cycle import LifeCycle
from verdict.model.message import Event, Message

State = TypeVar("State", bound=Message)
Member = TypeVar("Member", bound=Message)

# the longest name that is made of it, `<name>_state_version`, fits into PostgreSQL's 63 bytes
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class InvalidApplicationError(VerdictError):
    """What an application declares cannot be; the message says of what, and what to do."""


@dataclass(frozen=True)
class Aggregate(Generic[State]):
    """One aggregate type, by the decider pattern of Jérémie Chassaing.

    The state is None before the first event and after the last: that, with the version, is the
    life cycle. `decide` is asked only from a state that the command's `starts_from` allows.

    Args:
        name: Begins the names of its topics and schemas, for ever: lower case, such as `order`.
        state: The class that `evolve` returns; every field must fit Avro.
        decide: (state, command) → events, or raises `Refused`; pure.
        evolve: (state, event) → state; pure and total.
        commands: What may be asked of it: a class, or classes joined by `|`.
        events: What happens to it, likewise; in the order of its schema, so append new ones.
        handler_version: Of the rules; raise it when `decide` answers differently.
        snapshot_format: Of `state`; raise it when `evolve` makes another one of the same events.
            That its fields have changed is found without that.
        state_view: Whether readers find each one's state in the view `<name>_state`, which costs
            about as much as another read model with a row for each.

    Raises:
        InvalidApplicationError: The name cannot be that of a topic and of a table, a class is of
            another kind, or no command can create one.
    """

    name: str
    state: type[State]
    decide: Callable[[State | None, Any], list[Any]]
    evolve: Callable[[State | None, Any], State | None]
    commands: type[Command] | UnionType
    events: type[Event] | UnionType
    handler_version: str = "1"
    snapshot_format: int = 1
    state_view: bool = True

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InvalidApplicationError(
                f"aggregate {self.name!r} cannot have this name: take a letter, then at most 39 "
                "more letters, digits and _, all in lower case"
            )
        _see_that(self.name, "state", self.state, Message)
        for command in self.command_types.values():
            _see_that(self.name, "command", command, Command)
            _check_starts_from(self.name, command)
        for event in self.event_types.values():
            _see_that(self.name, "event", event, Event)
        if not any(LifeCycle.NONE in one.starts_from for one in self.command_types.values()):
            raise InvalidApplicationError(
                f"no command can create an aggregate {self.name!r}: give one of "
                f"{', '.join(self.command_types)} the line `starts_from = CREATING` (from verdict)"
            )

    @cached_property
    def command_types(self) -> Mapping[str, type[Command]]:
        """The classes of its commands, by name."""
        return _by_name(self.name, cast(Any, self.commands))

    @cached_property
    def event_types(self) -> Mapping[str, type[Event]]:
        """The classes of its events, by name."""
        return _by_name(self.name, cast(Any, self.events))


def _check_starts_from(aggregate: str, command: type[Command]) -> None:
    states: Any = command.starts_from  # somebody may have written anything
    if isinstance(states, Set) and states and all(isinstance(one, LifeCycle) for one in states):
        return
    raise InvalidApplicationError(
        f"the command {command.__name__} of aggregate {aggregate!r} has starts_from = {states!r}: "
        "write CREATING, EXISTING, REOPENING, or a frozenset of LifeCycle values (from verdict)"
    )


def _by_name(aggregate: str, union: Any) -> dict[str, type[Any]]:
    members = get_args(union) or (union,)
    names = [getattr(member, "__name__", repr(member)) for member in members]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidApplicationError(
            f"aggregate {aggregate!r} has two classes named {min(twice)}: rename one, as records "
            "name their class"
        )
    return dict(zip(names, members, strict=True))


def _see_that(aggregate: str, what: str, found: Any, wanted: type[Message]) -> None:
    if not (isinstance(found, type) and issubclass(found, wanted)):
        name = getattr(found, "__name__", repr(found))
        raise InvalidApplicationError(
            f"the {what} {name} of aggregate {aggregate!r} is no {wanted.__name__}: make it a "
            f"subclass of verdict.{wanted.__name__}"
        )
    if problems := [*unfit(found, of_state=what == "state")]:
        raise InvalidApplicationError(
            f"the {what} {found.__name__} of aggregate {aggregate!r} cannot be kept: "
            f"{'; '.join(problems)}; {ADVICE}"
        )
    if problems := [*misnamed(found, what)]:
        raise InvalidApplicationError(
            f"the {what} {found.__name__} of aggregate {aggregate!r} cannot be kept: "
            f"{'; '.join(problems)}"
        )
