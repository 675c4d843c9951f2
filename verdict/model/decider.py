"""What the rules of one aggregate are, as a value."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from verdict.model.message import Message
from verdict.model.registry import aggregate_types, module

State = TypeVar("State", bound=Message)


@dataclass(frozen=True, slots=True)
class Decider(Generic[State]):
    """The rules of one aggregate type (the decider pattern of Jérémie Chassaing).

    The state is None before the first event and after the last: that, with the version, is the
    life cycle. `decide` is asked only from a state that the command's `starts_from` allows.

    Args:
        aggregate_type: The name of the aggregate.
        state: The class that `evolve` returns; every field must fit Avro.
        decide: (state, command) → events, or raises `Refused`; pure.
        evolve: (state, event) → state; pure and total.
        handler_version: Of the rules; raise it when `decide` answers differently.
        snapshot_format: Of `state`; raise it when its fields change.
    """

    aggregate_type: str
    state: type[State]
    decide: Callable[[State | None, Any], list[Any]]
    evolve: Callable[[State | None, Any], State | None]
    handler_version: str = "1"
    snapshot_format: int = 1


@cache
def decider_of(aggregate_type: str) -> Decider[Any]:
    """Return the rules of an aggregate, from the module of its name.

    Raises:
        UnknownAggregate: Nothing installed declares it.
    """
    found = module("aggregates", aggregate_type).decider
    assert isinstance(found, Decider)
    return found


@cache
def handler_versions() -> str:
    """Return the versions of all rules in one line: `order=1 position=1`."""
    versions = ((name, decider_of(name).handler_version) for name in aggregate_types())
    return " ".join(f"{name}={version}" for name, version in versions)
