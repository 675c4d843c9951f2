"""The command types of every aggregate, by name."""

from functools import cache
from typing import get_args

from verdict.model.command import Command
from verdict.model.registry import aggregate_types, class_prefix, module


@cache
def command_types(aggregate_type: str) -> dict[str, type[Command]]:
    """Return the command classes of an aggregate by name: the members of its `<Name>Command`.

    Raises:
        UnknownAggregate: Nothing installed declares it.
    """
    union = getattr(module("commands", aggregate_type), f"{class_prefix(aggregate_type)}Command")
    return {member.__name__: member for member in get_args(union) or (union,)}


@cache
def aggregate_of(command_type: type[Command]) -> str:
    """Return the aggregate that `command_type` is addressed to.

    Raises:
        LookupError: No aggregate lists this type among its commands.
    """
    for aggregate_type in aggregate_types():
        if command_types(aggregate_type).get(command_type.__name__) is command_type:
            return aggregate_type
    raise LookupError(
        f"{command_type.__name__} belongs to no aggregate: add it to its module's union"
    )
