"""The event model: which commands, events, policies and projections cause each other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from verdict.model.application import Application
from verdict.read_side.catalog import projections
from verdict.wire.topics import Topics


class AggregateMessages(NamedTuple):
    """An aggregate with its commands and events."""

    name: str
    commands: tuple[str, ...]
    events: tuple[str, ...]


class CommandSource(NamedTuple):
    """A policy or inbound topic: which commands it sends to which aggregates, None if unknown."""

    name: str
    what: str
    asks: tuple[tuple[str, str | None], ...]


class Downstream(NamedTuple):
    """What follows aggregates, or topics of states: a policy, a notification, a projection."""

    name: str
    what: str
    follows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventModel:
    """The whole application; `states` are topics of states."""

    askers: tuple[CommandSource, ...]
    aggregates: tuple[AggregateMessages, ...]
    states: tuple[str, ...]
    followers: tuple[Downstream, ...]

    def senders_to(self, aggregate: str) -> Iterator[str]:
        """Yield what sends commands to an aggregate, and which."""
        for one in self.askers:
            what = [command or one.what for name, command in one.asks if name == aggregate]
            if what:
                yield f"{one.name} ({', '.join(what)})"

    def followers_of(self, name: str) -> Iterator[str]:
        """Yield what follows an aggregate, or a topic of states."""
        return (f"{one.name} ({one.what})" for one in self.followers if name in one.follows)


def causes_in(app: Application, chosen: Mapping[str, object]) -> EventModel:
    """Return the event model, without the projections that each application has."""
    kinds = (app.aggregate(name) for name in app.aggregate_types)
    return EventModel(
        askers=(*_askers(app),),
        aggregates=tuple(
            AggregateMessages(one.name, (*sorted(one.command_types),), (*sorted(one.event_types),))
            for one in kinds
        ),
        states=tuple(one.topic for one in app.state_topics),
        followers=(*_followers(app), *_read_models(app, chosen)),
    )


def _askers(app: Application) -> Iterator[CommandSource]:
    for inbound in app.inbound:
        yield CommandSource(
            inbound.name, f"topic {inbound.topic}", ((inbound.aggregate_type, None),)
        )
    for policy in app.policies:
        asks = ((app.aggregate_of(kind), kind.__name__) for kind in policy.asks)
        yield CommandSource(
            policy.name, "policy" if policy.asks else "policy, untold what", (*asks,)
        )


def _followers(app: Application) -> Iterator[Downstream]:
    for policy in app.policies:
        yield Downstream(policy.name, "policy", policy.follows)
    for told in app.notifications:
        yield Downstream(told.name, f"publishes to {told.topic}", told.follows)
    if app.lake is not None:
        yield Downstream(app.lake.name, "lake", (app.lake.aggregate_type,))


def _read_models(app: Application, chosen: Mapping[str, object]) -> Iterator[Downstream]:
    topics, own = Topics(app), {one.name for one in app.projections}
    source = {topics.events(name): name for name in app.aggregate_types}
    source |= {topics.named(one.topic): one.topic for one in app.state_topics}
    for model in projections(app, chosen):
        if model.name in own:
            follows = (source[topic] for topic in model.topics(topics) if topic in source)
            yield Downstream(model.name, "projection", (*follows,))
