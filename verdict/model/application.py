"""An application as one value, which each function gets from its caller."""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from verdict.model.aggregate import Aggregate, InvalidApplicationError
from verdict.model.integration import Inbound, LakeTable, Notification, StateTopic
from verdict.model.message import Message
from verdict.model.policy import Policy
from verdict.model.projection import AnyDeclaration, Declaration


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb as `verdict --help` lists it.

    Args:
        name: The word on the command line.
        summary: One line.
        panel: The group in the list.
        module: A module with a `typer.Typer` named `app`; the call of the verb imports it.
        alone: Whether it needs no running service, so it takes no address of one.
    """

    name: str
    summary: str
    panel: str
    module: str
    alone: bool = False


class UnknownAggregateError(LookupError):
    """The application does not declare this aggregate."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no aggregate {name!r}: there are {', '.join(known) or 'none'}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Application:
    """All that the engine runs of a business.

    Args:
        name: In messages for people.
        aggregates: The aggregates.
        schemas: The package whose folder `avro` holds the schema files.
        namespace: The permanent prefix of names in Avro schemas.
        projections: The projections, in the order in which a batch updates them.
        policies: What reacts to events with commands.
        notifications: What publishes records for other systems.
        inbound: Records of other systems that become commands.
        state_topics: Topics of states of other systems, for projections.
        lake: The table that is kept as files.
        backoffs: Name → (dead letter → the seconds until its next try).
        settings: A subclass of `verdict.Settings` with more settings.
        verbs: More verbs of the command line.

    Raises:
        InvalidApplicationError: Two parts have one name, or one names a part that is not there.
    """

    name: str
    aggregates: tuple[Aggregate[Any], ...]
    schemas: str
    namespace: str
    projections: tuple[AnyDeclaration, ...] = ()
    policies: tuple[Policy, ...] = ()
    notifications: tuple[Notification, ...] = ()
    inbound: tuple[Inbound, ...] = ()
    state_topics: tuple[StateTopic, ...] = ()
    lake: LakeTable | None = None
    backoffs: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    settings: type[BaseModel] | None = None
    verbs: tuple[Verb, ...] = ()
    module: str = field(init=False, repr=False)  # from which a worker imports it

    def __post_init__(self) -> None:
        object.__setattr__(self, "module", _calling_module())
        self._require_unique_names()
        self._require_unique_classes()
        self._require_settings()
        self._require_known_sources()
        self._require_own_topics()

    @cached_property
    def aggregate_types(self) -> tuple[str, ...]:
        """The names of its aggregates, sorted."""
        return tuple(sorted(one.name for one in self.aggregates))

    def aggregate(self, name: str) -> Aggregate[Any]:
        """Return the aggregate of this name.

        Raises:
            UnknownAggregateError: It does not declare one.
        """
        if name not in self._by_name:
            raise UnknownAggregateError(name, self.aggregate_types)
        return self._by_name[name]

    def aggregate_of(self, kind: type[Message]) -> str:
        """Return the name of the aggregate that has this class among its commands or events.

        Raises:
            LookupError: None has.
        """
        if kind not in self._by_class:
            raise LookupError(
                f"{kind.__name__} belongs to no aggregate of {self.name}: add it to the commands "
                "or events of one, or use the application that has it"
            )
        return self._by_class[kind]

    @cached_property
    def handler_versions(self) -> str:
        """The versions of all rules: `order=1 position=1`."""
        every = ((name, self.aggregate(name).handler_version) for name in self.aggregate_types)
        return " ".join(f"{name}={version}" for name, version in every)

    @cached_property
    def _by_name(self) -> Mapping[str, Aggregate[Any]]:
        return {one.name: one for one in self.aggregates}

    @cached_property
    def _by_class(self) -> Mapping[type[Message], str]:
        return {kind: one.name for one in self.aggregates for kind in _classes_of(one)}

    def _require_unique_names(self) -> None:
        named = {
            "aggregate": [one.name for one in self.aggregates],
            # a dead letter names the policy or notification that failed
            "policy or notification": [
                *(one.name for one in self.policies),
                *(one.name for one in self.notifications),
            ],
            "topic": [
                *(one.topic for one in self.inbound),
                *(one.topic for one in self.state_topics),
            ],
            "state": [one.state.__name__ for one in self.state_topics],
            "projection": [one.name for one in self.projections],
        }
        for what, names in named.items():
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise InvalidApplicationError(
                    f"{self.name} has two of the {what} {twice[0]!r}: rename one of them"
                )

    def _require_unique_classes(self) -> None:
        owners: dict[type[Message], str] = {}
        for one in self.aggregates:
            for kind in _classes_of(one):
                if (other := owners.setdefault(kind, one.name)) != one.name:
                    raise InvalidApplicationError(
                        f"{kind.__name__} is of two aggregates, {other!r} and {one.name!r}: give "
                        "each a class of its own"
                    )

    def _require_settings(self) -> None:
        known = {} if self.settings is None else self.settings.model_fields
        for one in (*self.policies, *self.projections):
            if missing := sorted(set(one.settings) - set(known)):
                raise InvalidApplicationError(
                    f"{one.name!r} depends on the setting {missing[0]!r}, which the settings of "
                    f"{self.name} do not have: add it there"
                )

    def _require_known_sources(self) -> None:
        declared = [one for one in self.projections if isinstance(one, Declaration)]
        for one in declared:
            if isinstance(one.of, StateTopic) and one.of not in self.state_topics:
                raise InvalidApplicationError(
                    f"{one.name!r} follows the topic {one.of.topic!r}, which is not among the "
                    f"states of {self.name}: add it there"
                )
        followed = [
            *((one.name, one.follows) for one in self.policies),
            *((one.name, one.follows) for one in self.notifications),
            *((one.name, (one.aggregate_type,)) for one in self.inbound),
            *((one.name, one.types) for one in declared),
        ]
        if self.lake is not None:
            followed.append((self.lake.name, (self.lake.aggregate_type,)))
        for name, follows in followed:
            if unknown := sorted(set(follows) - set(self.aggregate_types)):
                raise InvalidApplicationError(
                    f"{name!r} speaks of the aggregate {unknown[0]!r}, which {self.name} does "
                    f"not have: there are {', '.join(self.aggregate_types) or 'none'}"
                )

    def _require_own_topics(self) -> None:
        for one in self.notifications:
            aggregate, dot, _ = one.topic.partition(".")
            if dot and aggregate in self._by_name:
                begins = f"which begins as the topics of aggregate {aggregate!r} do"
                raise InvalidApplicationError(
                    f"notification {one.name!r} writes to {one.topic!r}, {begins}: take another one"
                )


def _calling_module() -> str:
    """Return the module that makes an application, found as `namedtuple` and `TypeVar` find it."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"] in (__name__, dataclasses.__name__):
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def _classes_of(aggregate: Aggregate[Any]) -> Iterator[type[Message]]:
    yield from aggregate.command_types.values()
    yield from aggregate.event_types.values()
