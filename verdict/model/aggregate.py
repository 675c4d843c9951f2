"""One aggregate type as a value: its rules, commands and events."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Any, Generic, TypeVar, cast, get_args

from verdict.errors import VerdictError
from verdict.model.command import Command, LifeCycle
from verdict.model.field_types import ADVICE, misnamed, unsupported
from verdict.model.message import Event, Message

State = TypeVar("State", bound=Message)
Member = TypeVar("Member", bound=Message)

# so `<name>_state_version` fits into PostgreSQL's 63 bytes
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class InvalidApplicationError(VerdictError):
    """A declaration of an application is wrong; the message says which, and what to do."""


@dataclass(frozen=True)
class Aggregate(Generic[State]):
    """One aggregate type, by the decider pattern of Jérémie Chassaing.

    The state is None before the first event and after a deletion. `decide` is called only in a
    life-cycle state that the command's `starts_from` names.

    Args:
        name: The permanent name, with which its topics and schemas begin: lower case.
        state: The class that `evolve` returns; its fields must fit Avro.
        decide: (state, command) → events, or raises `Refused`; pure.
        evolve: (state, event) → state, None to delete it; pure and total.
        commands: A class, or classes joined by `|`.
        events: Likewise, in the order of the schema: append new ones.
        handler_version: The version of the rules; raise it when `decide` answers differently.
        snapshot_format: Raise it when `evolve` makes another state of the same events. Changed
            fields are found without it.
        state_view: Whether there is a view `<name>_state`, which costs about as much as another
            projection with a row per aggregate.

    Raises:
        InvalidApplicationError: The name fits no topic or table, a class is of another kind, or no
            command can create an aggregate.
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
    states: Any = command.starts_from  # as its author wrote it
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
    if problems := [*unsupported(found)]:
        problems[-1] += f"; {ADVICE}"
    if problems := problems or [*misnamed(found, what)]:
        raise InvalidApplicationError(
            f"the {what} {found.__name__} of aggregate {aggregate!r} cannot be kept: "
            f"{'; '.join(problems)}"
        )
