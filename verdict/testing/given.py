"""Given what happened, when this is asked, then that; through the code that a service runs."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from verdict.model.application import Application
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation, Expected, meant
from verdict.model.message import Event
from verdict.model.notification import Notification
from verdict.model.policy import Dispatch, Policy
from verdict.model.projection import AnyDeclaration
from verdict.model.source import Source
from verdict.read_side.catalog import FIRST, at_version
from verdict.testing.diff import difference, told
from verdict.testing.following import GivenReactions
from verdict.testing.histories import (
    START,
    STEP_MS,
    GivenHistory,
    recorded,
    require_lossless,
)
from verdict.testing.judging import Remembered, decide_command
from verdict.testing.outcome import CommandOutcome
from verdict.testing.read_model import ShownRows
from verdict.wire.catalog import Catalog, catalog_of
from verdict.write_side.decide.fold import fold
from verdict.write_side.decide.record import StoredEvent
from verdict.write_side.decide.snapshot import Snapshot


@dataclass(frozen=True)
class Given:
    """What happened, and which command ids are remembered; every step returns a new one.

    So a beginning can be shared by any number of tests. Each event and each command comes a second
    after the one before it, the first at 2026-01-01T12:00:00Z.
    """

    application: Application
    history: tuple[StoredEvent, ...] = ()
    remembered: Remembered = field(default_factory=dict)
    now: int = START

    def given(self, *events: Event | GivenHistory) -> "Given":
        """Let these events have happened, after those that already did.

        An event alone happened to `order-1`, if it is one of an order; see `happened`.
        """
        after = self
        for aggregate_id, event in chain.from_iterable(map(self._each, events)):
            stored = recorded(self._catalog, after.history, aggregate_id, event, after.now)
            after = replace(after, history=(*after.history, stored), now=after.now + STEP_MS)
        return after

    def when(
        self,
        command: Command,
        expected_version: Expected = Expectation.ANY,
        *,
        aggregate_id: str | None = None,
        command_id: str | None = None,
        deadline: int | None = None,
    ) -> CommandOutcome["Given"]:
        """Let a command be decided; what is expected of it comes next.

        Args:
            command: What is asked.
            expected_version: As in `Client.send`.
            aggregate_id: Of whom; default: `order-1`, if it is a command to an order.
            command_id: Default: one that nobody has used.
            deadline: When it must have reached Kafka, in epoch milliseconds; it does so at `now`.
        """
        context = self._catalog.of(type(command))
        aggregate_type = context.name
        envelope = CommandEnvelope(
            command_id=command_id or f"when-{self.now}",
            aggregate_id=aggregate_id or _first(aggregate_type),
            expected_version=meant(expected_version),
            deadline=deadline,
            payload={},
        )
        place = Source(f"{aggregate_type}.commands", 0, (self.now - START) // STEP_MS)
        snapshot = self._snapshot(aggregate_type, envelope.aggregate_id)
        verdict = decide_command(
            context, envelope, command, place, self.now, snapshot, self.remembered
        )
        for stored in verdict.events:
            require_lossless(context, stored)
        known = (aggregate_type, envelope.aggregate_id, envelope.command_id)
        after = Given(
            self.application,
            (*self.history, *verdict.events),
            {**self.remembered, known: verdict.response} if verdict.remembered else self.remembered,
            self.now + STEP_MS,
        )
        asked = f"{command!r} to {envelope.aggregate_id!r}, expected_version={expected_version}"
        return CommandOutcome(self.history, asked, verdict, after)

    def shown_by(
        self, read_model: AnyDeclaration, view: str | None = None, **settings: object
    ) -> ShownRows:
        """Let a projection see what happened.

        Args:
            read_model: On a new SQLite file, through its own tables.
            view: One of its views; default: the one that has its name.
            **settings: Of the projection; those that are left out have their defaults.

        Raises:
            TypeError: The projection has no such setting.
        """
        if unknown := sorted(settings.keys() - {*read_model.settings}):
            raise TypeError(f"{read_model.name} has no setting {unknown[0]!r}")
        shown = at_version(read_model, settings)(FIRST)
        return ShownRows(self.application, self.history, shown, view or read_model.name)

    def answered_by(self, policy: Policy) -> GivenReactions[Dispatch]:
        """Let a policy look at what happened.

        Raises:
            AssertionError: It asks for what its annotation does not tell of.
        """
        __tracebackhide__ = True
        events = [one.event for one in self.history if one.event.aggregate_type in policy.follows]
        asked = [*chain.from_iterable(map(policy.react, events))]
        if policy.asks and (
            untold := [one for one in asked if type(one.command) not in policy.asks]
        ):
            raise difference(
                f"{policy.name} asks for what its annotation does not tell of",
                told(self.history),
                [f"{policy.name} looks at them"],
                [f"commands of {', '.join(kind.__name__ for kind in policy.asks)} alone"],
                [*map(repr, untold)],
            )
        return GivenReactions(self.history, policy.name, asked)

    def told_by(self, notification: Notification) -> GivenReactions[dict[str, Any]]:
        """Let a notification look at what happened."""
        follows = notification.follows
        events = [one.event for one in self.history if one.event.aggregate_type in follows]
        messages = [one for one in map(notification.tell, events) if one is not None]
        return GivenReactions(self.history, notification.name, messages)

    def then_state(self, **fields: object) -> "Given":
        """Expect these values in the state of the aggregate to which something happened last.

        Raises:
            AssertionError: They are others, or there is no state.
        """
        __tracebackhide__ = True  # pytest shows the line of the test instead
        state = self._last().state
        found = {name: getattr(state, name, None) for name in fields}
        if state is None or found != fields:
            raise AssertionError(f"the state is {state!r}, not one with {fields}")
        return self

    def then_deleted(self) -> "Given":
        """Expect that nothing but the version is left of the aggregate that changed last.

        Raises:
            AssertionError: It has a state.
        """
        __tracebackhide__ = True
        if (state := self._last().state) is not None:
            raise AssertionError(f"it is not deleted, the state is {state!r}")
        return self

    @property
    def _catalog(self) -> Catalog:
        return catalog_of(self.application)

    def _each(self, event: Event | GivenHistory) -> Iterator[tuple[str, Event]]:
        if isinstance(event, GivenHistory):
            yield from ((event.aggregate_id, one) for one in event.events)
        else:
            yield _first(self.application.aggregate_of(type(event))), event

    def _last(self) -> Snapshot[Any]:
        if not self.history:
            raise AssertionError("nothing has happened")
        last = self.history[-1].event
        return self._snapshot(last.aggregate_type, last.aggregate_id)

    def _snapshot(self, aggregate_type: str, aggregate_id: str) -> Snapshot[Any]:
        this = (aggregate_type, aggregate_id)
        return fold(
            self.application.aggregate(aggregate_type),
            (
                one
                for one in self.history
                if (one.event.aggregate_type, one.event.aggregate_id) == this
            ),
        )


def given(application: Application, *events: Event | GivenHistory) -> Given:
    """Begin a test: let these events have happened, in this order.

        given(app, placed).when(FillOrder(quantity=10, price_cents=1)).then(filled)
        given(app, placed).when(FillOrder(quantity=11, price_cents=1)).then_refused("OVERFILL")
        given(app, happened("p-1", opened)).shown_by(us_holder).then({"positions": 1})
        given(app, recorded).answered_by(award_points).then(Asked("card-1", AwardPoints(...)))

    Args:
        application: Whose rules they are.
        *events: One alone happened to `order-1`, if it is one of an order; see `happened`.
    """
    return Given(application).given(*events)


def _first(aggregate_type: str) -> str:
    return f"{aggregate_type}-1"
