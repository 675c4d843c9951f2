"""Projections as an application declares them: a factory of `Groups`, `Latest` or `Rows`.

The factory gives the name of the projection and its view, and its docstring the comment of the
view. Its parameters are settings, whose canonical JSON is stored with each version of the tables.
"""

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar, cast, get_origin, get_type_hints

from verdict.model.aggregate import NAME, InvalidApplicationError
from verdict.model.groups import Groups
from verdict.model.integration import StateTopic
from verdict.model.rows import RANK, Latest, Rows

Settings = ParamSpec("Settings")
Kind = TypeVar("Kind", bound=Groups[Any] | Latest[Any] | Rows[Any], covariant=True)

UNORDERED = (Collection, Set, set, frozenset)
FEED = ("seq", "kind", "event_id", "at")  # the columns of a feed, next to group and member
VERSION = "version"  # a parameter of a `TableProjection` that is no setting


@dataclass(frozen=True, eq=False)
class Declaration(Generic[Settings, Kind]):
    """A projection as `@projection` declares it; a call returns its kind with these settings."""

    factory: Callable[Settings, Kind]
    of: tuple[str, ...] | StateTopic

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InvalidApplicationError(
                f"projection {self.name!r} cannot have this name: take a letter, then at most 39 "
                "more letters, digits and _, all in lower case"
            )
        settings_text(self.factory, {})  # raises if JSON cannot store it
        kind: Any = cast(Any, self.factory)()
        self._check_names(kind)
        if isinstance(kind.evolve, Mapping) and {*kind.evolve} != {*self.types}:
            raise InvalidApplicationError(
                f"projection {self.name!r} follows {', '.join(self.types) or 'no events'} and has "
                f"an `evolve` for {', '.join(kind.evolve)}: give one for each type"
            )
        if isinstance(kind, Latest) and self.type_name is None:
            raise InvalidApplicationError(
                f"projection {self.name!r} shows the latest rows of several aggregate types, which "
                "may have the same ids: follow one type"
            )
        needs_events = isinstance(kind, Groups) and (kind.feed or kind.leaves_behind)
        if needs_events and isinstance(self.of, StateTopic):
            raise InvalidApplicationError(
                f"projection {self.name!r} follows the topic {self.of.topic!r}, which has no "
                "events: drop `feed` and `leaves_behind`, which need the event behind a change"
            )

    def _check_names(self, kind: Any) -> None:
        """Raise if a column of a view has the name of another one."""
        if isinstance(kind, Groups):
            taken, names = ({*FEED} if kind.feed else set()), {kind.key}
        else:
            taken, names = {self.id_column}, {*kind.row._fields}
            taken |= {RANK} if isinstance(kind, Latest) else set()
        if clash := sorted(taken & names):
            raise InvalidApplicationError(
                f"projection {self.name!r} has a column {clash[0]!r} of its own, and so has the "
                "engine in the same view: rename yours"
            )

    def __call__(self, *args: Settings.args, **settings: Settings.kwargs) -> Kind:
        """Return the kind with these settings; others have their defaults."""
        return self.factory(*args, **settings)

    @cached_property
    def name(self) -> str:
        return self.factory.__name__

    @cached_property
    def about(self) -> str:
        """The comment of its view."""
        return " ".join((inspect.getdoc(self.factory) or "").partition("\n\n")[0].split())

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The settings of the application that it depends on."""
        return tuple(defaults_of(self.factory))

    @property
    def types(self) -> tuple[str, ...]:
        """The aggregate types whose events it follows."""
        return () if isinstance(self.of, StateTopic) else self.of

    @property
    def type_name(self) -> str | None:
        """The aggregate type: None if there are several, "" if a topic names none."""
        if isinstance(self.of, StateTopic):
            return self.of.about or ""
        return self.of[0] if len(self.of) == 1 else None

    @property
    def id_column(self) -> str:
        """The column of views for the id of an aggregate."""
        if self.type_name is None:
            return "aggregate_id"
        return f"{self.type_name}_id" if self.type_name else "id"

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The key columns of the view."""
        kind: Any = cast(Any, self.factory)()
        if isinstance(kind, Groups):
            return (kind.key,)
        if isinstance(kind, Latest):
            return kind.by, RANK
        return ("aggregate_type", self.id_column) if self.type_name is None else (self.id_column,)


@dataclass(frozen=True, eq=False, kw_only=True)
class TableProjection:
    """A projection with SQLAlchemy tables of its own, if no kind fits.

    Args:
        name: The name of the projection and of its view.
        key: The key columns of the view.
        factory: (`version`, settings) → the projection, whose tables have the version in their
            names. Each parameter has a default.
    """

    name: str
    key: tuple[str, ...]
    factory: Callable[..., Any]

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The settings of the application that it depends on."""
        return tuple(name for name in defaults_of(self.factory) if name != VERSION)


AnyDeclaration = Declaration[..., Any] | TableProjection


def projection(
    *, of: str | Iterable[str] | StateTopic
) -> Callable[[Callable[Settings, Kind]], Declaration[Settings, Kind]]:
    """Declare a projection: the decorated function returns `Groups`, `Latest` or `Rows`.

    Args:
        of: The aggregate type or types whose events it follows, or a topic of states: a state
            replaces the row of its key, and a record without a value deletes it.

    Raises:
        InvalidApplicationError: A parameter has no default, or one that JSON cannot carry; or the
            returned value does not fit.
    """
    source = of if isinstance(of, StateTopic) else (of,) if isinstance(of, str) else tuple(of)
    return lambda factory: Declaration(factory, source)


def defaults_of(factory: Callable[..., object]) -> Mapping[str, Any]:
    """Return the parameters of a factory with their defaults."""
    parameters = inspect.signature(factory).parameters.values()
    if missing := [one.name for one in parameters if one.default is one.empty]:
        raise InvalidApplicationError(
            f"the parameter {missing[0]!r} of {_name(factory)} is a setting of the projection and "
            "has no default: give it one"
        )
    return {one.name: one.default for one in parameters}


def settings_text(factory: Callable[..., object], chosen: Mapping[str, object]) -> str:
    """Return the settings of a projection as canonical JSON; empty if it has none."""
    values = {name: value for name, value in defaults_of(factory).items() if name != VERSION}
    if not values:
        return ""
    hints = get_type_hints(factory)
    canonical = {
        name: _canonical(factory, name, chosen.get(name, default), hints.get(name))
        for name, default in values.items()
    }
    return json.dumps(canonical, ensure_ascii=False, sort_keys=True)


def settings_of(text: str, names: Collection[str]) -> Mapping[str, object]:
    """Return the settings among `names` that `settings_text` has written."""
    try:
        found = json.loads(text)
    except ValueError:  # of a projection that has none
        return {}
    return {name: found[name] for name in names if name in found} if isinstance(found, dict) else {}


def _canonical(factory: Callable[..., object], name: str, value: Any, annotation: Any) -> Any:
    """Return a value for JSON; unordered collections are sorted."""
    if value is None or isinstance(value, str | int):
        return value
    is_list = isinstance(value, Collection) and not isinstance(value, Mapping | bytes)
    if is_list and all(isinstance(one, str | int) for one in value):
        unordered = isinstance(value, Set) or get_origin(annotation) in UNORDERED
        return sorted({*value}) if unordered else [*value]
    raise InvalidApplicationError(
        f"the setting {name!r} of {_name(factory)} is {value!r}: a setting of a projection is a "
        "str, int, bool, None, or a collection of str or int"
    )


def _name(factory: Callable[..., object]) -> str:
    return getattr(factory, "__name__", repr(factory))
