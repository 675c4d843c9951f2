"""Who causes what, as the application declares it, so that it says what the application does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from verdict.model.application import Application
from verdict.read_side.catalog import projections
from verdict.wire.topics import Topics


class OutboundNotification(NamedTuple):
    """An aggregate: what it is asked, and what happens to it."""

    name: str
    commands: tuple[str, ...]
    events: tuple[str, ...]


class CommandSource(NamedTuple):
    """Who sends commands by itself: to which aggregates, and which; none: it does not say."""

    name: str
    what: str
    asks: tuple[tuple[str, str | None], ...]


class Downstream(NamedTuple):
    """Who does something because of events of aggregates, or of records on others' topics."""

    name: str
    what: str
    follows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventModel:
    """The whole: `states` are topics on which others carry states."""

    askers: tuple[CommandSource, ...]
    aggregates: tuple[OutboundNotification, ...]
    states: tuple[str, ...]
    followers: tuple[Downstream, ...]

    def asking(self, aggregate: str) -> Iterator[str]:
        """Yield who asks something of an aggregate, and what."""
        for one in self.askers:
            what = [command or one.what for name, command in one.asks if name == aggregate]
            if what:
                yield f"{one.name} ({', '.join(what)})"

    def following(self, name: str) -> Iterator[str]:
        """Yield who follows an aggregate, or a topic of states."""
        return (f"{one.name} ({one.what})" for one in self.followers if name in one.follows)


def causes_in(app: Application, chosen: Mapping[str, object]) -> EventModel:
    """Return who causes what.

    Left out is what every application has alike: archive, outcomes and states of aggregates.
    """
    kinds = (app.aggregate(name) for name in app.aggregate_types)
    return EventModel(
        askers=(*_askers(app),),
        aggregates=tuple(
            OutboundNotification(
                one.name, (*sorted(one.command_types),), (*sorted(one.event_types),)
            )
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
        yield Downstream(told.name, f"told on topic {told.topic}", told.follows)
    if app.lake is not None:
        yield Downstream(app.lake.name, "lake", (app.lake.aggregate_type,))


def _read_models(app: Application, chosen: Mapping[str, object]) -> Iterator[Downstream]:
    topics, own = Topics(app), {one.name for one in app.projections}
    source = {topics.events(name): name for name in app.aggregate_types}
    source |= {topics.named(one.topic): one.topic for one in app.state_topics}
    for model in projections(app, chosen):
        if model.name in own:
            follows = (source[topic] for topic in model.topics(topics) if topic in source)
            yield Downstream(model.name, "read model", (*follows,))
