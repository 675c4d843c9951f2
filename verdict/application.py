"""An application, as one value: all that the engine runs and knows of a business.

A process uses one application. Nobody hands it down: Spark's workers, a record's codec and the
command line ask for `current`, which finds it by its path, `MODULE:NAME`.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from verdict.application_name import IN_A_CHECKOUT, VARIABLE, named
from verdict.errors import VerdictError
from verdict.model.aggregate import Aggregate, Misdeclared
from verdict.model.carried_state import CarriedState, StateTopic
from verdict.model.inbound import Inbound
from verdict.model.lake_table import LakeTable
from verdict.model.mailing import Mailing
from verdict.model.message import Message
from verdict.model.notification import Notification
from verdict.model.policy import Policy
from verdict.model.projection import AnyDeclaration, Declaration
from verdict.model.told import told
from verdict.model.verb import Verb

if TYPE_CHECKING:
    from verdict.testing.in_memory import InMemory

Found = TypeVar("Found", bound=Callable[..., Any])


class UnknownAggregate(LookupError):
    """The application does not declare this aggregate."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no aggregate {name!r}: there are {', '.join(known) or 'none'}")


class NoApplication(VerdictError):
    """There is no application where this process looks for one, or it cannot be loaded."""

    exit_code = 2


class UnknownApplication(NoApplication):
    """What is named as the application is no application, or not there."""


class NoneHere(NoApplication):
    """Nobody says which application is wanted, and this folder has none."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Application:
    """What a business is made of; it refuses to be made of what does not fit together.

    Args:
        name: In messages for people.
        aggregates: Its aggregates.
        schemas: The package whose folder `avro` holds its schema files.
        namespace: Begins the names in its Avro schemas, for ever.
        read_models: Its projections, in the order in which a batch updates them.
        policies: What is asked for because something happened.
        notifications: What others are told because something happened.
        inbound: Records of other systems that become commands.
        states: Topics on which others carry states, which read models may follow.
        lake: What is kept as files.
        mailing: What goes by mail each week.
        backoffs: Name → letter → the seconds that it waits for its next try.
        mail_addresses: Name → client → address; it raises `OSError` when it cannot tell just now.
        settings: A subclass of `verdict.Settings` with more that can be chosen.
        verbs: What its command line does besides what that of every application does.

    Raises:
        Misdeclared: Two have one name, or one speaks of what is not there; says which.
    """

    name: str
    aggregates: tuple[Aggregate[Any], ...]
    schemas: str
    namespace: str
    read_models: tuple[AnyDeclaration, ...] = ()
    policies: tuple[Policy, ...] = ()
    notifications: tuple[Notification, ...] = ()
    inbound: tuple[Inbound, ...] = ()
    states: tuple[StateTopic, ...] = ()
    lake: LakeTable | None = None
    mailing: Mailing | None = None
    backoffs: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    mail_addresses: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    settings: type[BaseModel] | None = None
    verbs: tuple[Verb, ...] = ()

    def __post_init__(self) -> None:
        self._see_that_names_differ("aggregate", [one.name for one in self.aggregates])
        # a letter names the one of them that is to be tried again
        self._see_that_names_differ(
            "policy or notification", [name for name, _ in self._followed_by]
        )
        topics = [*(one.topic for one in self.inbound), *(one.topic for one in self.states)]
        self._see_that_names_differ("topic", topics)
        self._see_that_names_differ("state", [one.state.__name__ for one in self.states])
        self._see_that_classes_differ()
        self._see_that_settings_are_there((one.name, one.settings) for one in self.policies)
        self._see_that_names_differ("read model", [one.name for one in self.read_models])
        self._see_that_settings_are_there((one.name, one.settings) for one in self.read_models)
        self._see_that_what_is_followed_is_there()
        self._see_that_nobody_else_writes_to_topics_of_aggregates()

    @cached_property
    def aggregate_types(self) -> tuple[str, ...]:
        """The names of its aggregates, sorted."""
        return tuple(sorted(one.name for one in self.aggregates))

    def in_memory(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        clock: Callable[[], int] | None = None,
    ) -> "InMemory":
        """Run it in this process, on SQLite, without Kafka and Spark; see `InMemory`.

        For tests, notebooks and small tools: it is gone with the process.

        Args:
            settings: Its settings by name; what is missing has its default.
            clock: Gives the time of each record in epoch milliseconds; default: this machine's.
        """
        from verdict.testing.in_memory import InMemory, wall_clock

        return InMemory(self, settings, clock=clock or wall_clock)

    def aggregate(self, name: str) -> Aggregate[Any]:
        """Return the aggregate of this name.

        Raises:
            UnknownAggregate: It does not declare one.
        """
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownAggregate(name, self.aggregate_types) from None

    def aggregate_of(self, kind: type[Message]) -> str:
        """Return the name of the aggregate that has this class among its commands or events.

        Raises:
            LookupError: None has.
        """
        try:
            return self._by_class[kind]
        except KeyError:
            raise LookupError(
                f"{kind.__name__} belongs to no aggregate of {self.name}: add it to the commands "
                f"or events of one, or name the application that has it in {VARIABLE}"
            ) from None

    @cached_property
    def state_types(self) -> Mapping[str, type[CarriedState]]:
        """The classes of carried states, by name."""
        return {one.state.__name__: one.state for one in self.states}

    @cached_property
    def handler_versions(self) -> str:
        """The versions of all rules in one line: `order=1 position=1`."""
        every = ((name, self.aggregate(name).handler_version) for name in self.aggregate_types)
        return " ".join(f"{name}={version}" for name, version in every)

    @property
    def _followed_by(self) -> list[tuple[str, tuple[str, ...]]]:
        policies = [(one.name, one.follows) for one in self.policies]
        told = [(one.name, one.follows) for one in self.notifications]
        return policies + told

    @cached_property
    def _by_name(self) -> Mapping[str, Aggregate[Any]]:
        return {one.name: one for one in self.aggregates}

    @cached_property
    def _by_class(self) -> Mapping[type[Message], str]:
        return {kind: one.name for one in self.aggregates for kind in _classes_of(one)}

    def _see_that_names_differ(self, what: str, names: list[str]) -> None:
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise Misdeclared(f"{self.name} has two of the {what} {twice[0]!r}: rename one of them")

    def _see_that_classes_differ(self) -> None:
        owners: dict[type[Message], str] = {}
        for one in self.aggregates:
            for kind in _classes_of(one):
                if (other := owners.setdefault(kind, one.name)) != one.name:
                    raise Misdeclared(
                        f"{kind.__name__} is of two aggregates, {other!r} and {one.name!r}: give "
                        "each a class of its own"
                    )

    def _see_that_settings_are_there(self, wanted: Iterable[tuple[str, Sequence[str]]]) -> None:
        known = {} if self.settings is None else self.settings.model_fields
        for name, settings in wanted:
            if missing := sorted(set(settings) - set(known)):
                raise Misdeclared(
                    f"{name!r} depends on the setting {missing[0]!r}, which the settings of "
                    f"{self.name} do not have: add it there"
                )

    def _see_that_what_is_followed_is_there(self) -> None:
        others: list[tuple[str, tuple[str, ...]]] = [
            (one.name, (one.aggregate_type,)) for one in self.inbound
        ]
        declared = [one for one in self.read_models if isinstance(one, Declaration)]
        others += [(one.name, one.types) for one in declared]
        for one in declared:
            if isinstance(one.of, StateTopic) and one.of not in self.states:
                raise Misdeclared(
                    f"{one.name!r} follows the topic {one.of.topic!r}, which is not among the "
                    f"states of {self.name}: add it there"
                )
        if self.lake is not None:
            others.append((self.lake.name, (self.lake.aggregate_type,)))
        for name, follows in [*self._followed_by, *others]:
            if unknown := sorted(set(follows) - set(self.aggregate_types)):
                raise Misdeclared(
                    f"{name!r} speaks of the aggregate {unknown[0]!r}, which {self.name} does "
                    f"not have: there are {', '.join(self.aggregate_types) or 'none'}"
                )

    def _see_that_nobody_else_writes_to_topics_of_aggregates(self) -> None:
        for one in self.notifications:
            aggregate, dot, _ = one.topic.partition(".")
            if dot and aggregate in self._by_name:
                begins = f"which begins as the topics of aggregate {aggregate!r} do"
                raise Misdeclared(
                    f"notification {one.name!r} writes to {one.topic!r}, {begins}: take another one"
                )


def _classes_of(aggregate: Aggregate[Any]) -> Iterator[type[Message]]:
    yield from aggregate.command_types.values()
    yield from aggregate.event_types.values()


_in_use: list[Application] = []
_forget: list[Callable[[], None]] = []
_handed_down: list[str] = []  # put into the environment by this process, for its children


def current() -> Application:
    """Return the application of this process; the first to ask loads it.

    Raises:
        NoApplication: There is none, or it cannot be loaded.
        Misdeclared: It cannot be as it is declared.
    """
    if not _in_use:
        _in_use.append(load(path_of_the_application()))
    return _in_use[-1]


@contextmanager
def using(application: Application) -> Iterator[Application]:
    """Let this process, not its children, use another application for a while."""
    _in_use.append(application)
    _forget_what_followed()
    try:
        yield application
    finally:
        _in_use.remove(application)
        _forget_what_followed()


def of_the_application(function: Found) -> Found:
    """Remember what a function returns, which depends on the application, while that is used."""
    remembering = cache(function)
    _forget.append(remembering.cache_clear)
    return cast(Found, remembering)


def _forget_what_followed() -> None:
    for forget in _forget:
        forget()


def name_application(path: str) -> None:
    """Let this process and its children use another application, as `MODULE:NAME`."""
    _hand_down(path)
    _in_use.clear()
    _forget_what_followed()


def is_handed_down() -> bool:
    """Tell whether the environment names the application because this process put it there."""
    return os.environ.get(VARIABLE) in _handed_down


def _hand_down(path: str) -> None:
    if os.environ.get(VARIABLE) != path:  # else somebody has named it so already
        os.environ[VARIABLE] = path
        _handed_down.append(path)


def path_of_the_application() -> str:
    """Return which application is wanted, as `MODULE:NAME`.

    Raises:
        NoneHere: None is set, and this is no checkout of one.
    """
    if wanted := named():
        return wanted
    _look_here()
    if _is_here(IN_A_CHECKOUT.partition(":")[0]):
        return IN_A_CHECKOUT
    raise NoneHere(
        f"there is no application: {Path.cwd()} has no compose/application.py; name yours as "
        f"MODULE:NAME with --app, {VARIABLE} or `app` in verdict.toml, or write one with "
        "`verdict new application NAME`"
    )


def load(path: str) -> Application:
    """Import an application, from the working directory too, and let child processes find it.

    Args:
        path: `MODULE:NAME`.

    Raises:
        UnknownApplication: There is none at `path`.
        NoApplication: It cannot be loaded; says where it fails.
        Misdeclared: It cannot be as it is declared.
    """
    module, colon, name = path.partition(":")
    if not (module and colon and name) or not all(map(str.isidentifier, module.split("."))):
        raise UnknownApplication(f"{path!r} names no application: write it as MODULE:NAME")
    _look_here()
    try:
        found = getattr(import_module(module), name, None)
    except VerdictError:
        raise
    except Exception as error:  # somebody else's code
        is_missing = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(
            f"{error.name}."
        )
        kind = UnknownApplication if is_missing else NoApplication
        raise kind(f"the application {path} cannot be loaded: {told(error)}") from error
    if not isinstance(found, Application):
        what = "is not there" if found is None else f"is a {type(found).__name__}"
        raise UnknownApplication(f"{path} {what}: it must be a verdict.Application")
    _hand_down(path)
    return found


def _look_here() -> None:
    """Let modules be found in the working directory, as for `python -m`."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)


def _is_here(module: str) -> bool:
    """Tell whether the working directory has a module; one that is installed may have its name."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # not even its package
        return False
    return bool(spec and spec.origin and Path(spec.origin).is_relative_to(Path.cwd()))
