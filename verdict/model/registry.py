"""Which aggregates there are, and where their modules lie.

Adding an aggregate is adding `<folder>/<name>.py` in schemas, commands and aggregates, and its
name here. An installed package adds its own through the entry-point group `verdict.aggregates`:
the entry's name is the aggregate, its value the package that holds `schemas`, `commands` and
`aggregates` with a module of that name.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import get_args

from verdict.model.message import Event

BUILT_IN = ("enrolment", "invoice", "loyalty", "order", "position")
ENTRY_POINTS = "verdict.aggregates"


class UnknownAggregate(LookupError):
    """No installed package declares this aggregate."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no aggregate {name!r}: there are {', '.join(aggregate_types())}")


@cache
def _homes() -> dict[str, str]:
    """Return aggregate name → the package prefix of its modules ('' is this distribution)."""
    installed = {entry.name: f"{entry.value}." for entry in entry_points(group=ENTRY_POINTS)}
    if clash := set(installed) & set(BUILT_IN):
        raise ValueError(f"aggregates {sorted(clash)} are built in: give yours another name")
    return dict.fromkeys(BUILT_IN, "") | installed


def aggregate_types() -> tuple[str, ...]:
    """Return the names of all aggregates, sorted."""
    return tuple(sorted(_homes()))


def roots() -> tuple[str, ...]:
    """Return the package prefixes that hold aggregates, this distribution's ('') first."""
    return tuple(dict.fromkeys(("", *sorted(_homes().values()))))


def home(aggregate_type: str) -> str:
    """Return the package prefix of `aggregate_type`.

    Raises:
        UnknownAggregate: Nothing installed declares it.
    """
    if aggregate_type not in _homes():
        raise UnknownAggregate(aggregate_type)
    return _homes()[aggregate_type]


def module(folder: str, aggregate_type: str) -> ModuleType:
    """Import the module of one aggregate in `folder` (`schemas`, `commands`, `aggregates`).

    Raises:
        UnknownAggregate: Nothing installed declares it.
    """
    return import_module(f"{home(aggregate_type)}{folder}.{aggregate_type}")


def class_prefix(aggregate_type: str) -> str:
    """Return `order` as `Order`, `purchase_order` as `PurchaseOrder`."""
    return "".join(word.capitalize() for word in aggregate_type.split("_"))


@cache
def event_types(aggregate_type: str) -> dict[str, type[Event]]:
    """Return the event classes of an aggregate by name: the members of its `<Name>Event`."""
    union = getattr(module("schemas", aggregate_type), f"{class_prefix(aggregate_type)}Event")
    return {member.__name__: member for member in get_args(union) or (union,)}
