"""Tests as sentences: given these events, when a command, then its outcome. It runs real code."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from typing import Any

from verdict.model.application import Application
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation, Expected, parse_expectation
from verdict.model.integration import Notification
from verdict.model.message import Event, JsonObject
from verdict.model.policy import Dispatch, Policy
from verdict.model.projection import AnyDeclaration
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.model.source import Source
from verdict.read_side.catalog import FIRST, at_version
from verdict.testing.memory_read_side import ShownRows
from verdict.testing.outcome import (
    CommandOutcome,
    GivenReactions,
)
from verdict.wire.catalog import AggregateContext, Catalog, catalog_of
from verdict.wire.command_record import truncate_command
from verdict.wire.commands import encode_command
from verdict.wire.records import decode_event, encode_event
from verdict.wire.response import Response
from verdict.wire.stored_event import StoredEvent
from verdict.write_side.decide.command_checks import Limits, handle
from verdict.write_side.decide.fold import fold
from verdict.write_side.decide.parse import ReceivedCommand, parse_command
from verdict.write_side.decide.snapshot import Snapshot

START = 1_767_268_800_000  # 2026-01-01T12:00:00Z, in epoch milliseconds
STEP_MS = 1000


@dataclass(frozen=True)
class GivenHistory:
    """Events of one aggregate in their order; made by `happened`."""

    aggregate_id: str
    events: tuple[Event, ...]


def happened(aggregate_id: str, *events: Event) -> GivenHistory:
    """Return events of an aggregate, for `given`."""
    return GivenHistory(aggregate_id, events)


@dataclass(frozen=True)
class Given:
    """Events that have happened, and remembered command ids. Each step returns a new value.

    So tests can share a beginning. Each event and command comes a second after the one before it,
    the first at 2026-01-01T12:00:00Z.
    """

    application: Application
    history: tuple[StoredEvent, ...] = ()
    remembered: Mapping[tuple[str, str, str], Response] = field(default_factory=dict)
    now: int = START

    def given(self, *events: Event | GivenHistory) -> "Given":
        """Add events to the history; an event of an order alone happened to `order-1`."""
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
        """Decide a command, and return its outcome for an expectation.

        Args:
            command: The command.
            expected_version: As in `Client.send`.
            aggregate_id: Default: `order-1` for a command to an order.
            command_id: Default: a new one.
            deadline: In epoch milliseconds; the command reaches Kafka at `now`.
        """
        context = self._catalog.of(type(command))
        aggregate_type = context.name
        envelope = CommandEnvelope(
            command_id=command_id or f"when-{self.now}",
            aggregate_id=aggregate_id or f"{aggregate_type}-1",
            expected_version=parse_expectation(expected_version),
            deadline=deadline,
            payload={},
        )
        place = Source(f"{aggregate_type}.commands", 0, (self.now - START) // STEP_MS)
        snapshot = self._snapshot(aggregate_type, envelope.aggregate_id)
        key, value = envelope.aggregate_id.encode(), encode_command(context, envelope, command)
        record = truncate_command(place, self.now, key, value, len(value))
        received = parse_command(context, record)
        assert isinstance(received, ReceivedCommand), received
        known = (aggregate_type, envelope.aggregate_id, envelope.command_id)
        verdict = handle(context, snapshot, received, self.remembered.get(known), Limits())
        for stored in verdict.events:
            require_lossless(context, stored)
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
        """Apply the history to a projection, through its own tables in a new SQLite file.

        Args:
            read_model: The projection.
            view: One of its views; default: the one with its name.
            **settings: Settings of the projection that are not the default.

        Raises:
            TypeError: The projection has no such setting.
        """
        if unknown := sorted(settings.keys() - {*read_model.settings}):
            raise TypeError(f"{read_model.name} has no setting {unknown[0]!r}")
        shown = at_version(read_model, settings)(FIRST)
        return ShownRows(self.application, self.history, shown, view or read_model.name)

    def answered_by(self, policy: Policy) -> GivenReactions[Dispatch]:
        """Run a policy on the history; it may dispatch only the commands of its annotation."""
        __tracebackhide__ = True
        events = [one.event for one in self.history if one.event.aggregate_type in policy.follows]
        asked = [*chain.from_iterable(map(policy.react, events))]
        kinds = {type(one.command) for one in asked}
        if policy.asks and (unknown := kinds - {*policy.asks}):
            names = ", ".join(sorted(kind.__name__ for kind in unknown))
            raise AssertionError(f"{policy.name} dispatches {names}: add it to its annotation")
        return GivenReactions(self.history, policy.name, asked)

    def told_by(self, notification: Notification) -> GivenReactions[JsonObject]:
        """Run a notification on the history."""
        follows = notification.follows
        events = [one.event for one in self.history if one.event.aggregate_type in follows]
        messages = [one for one in map(notification.tell, events) if one is not None]
        return GivenReactions(self.history, notification.name, messages)

    def then_state(self, **fields: object) -> "Given":
        """Expect these values in the state of the aggregate of the last event."""
        __tracebackhide__ = True
        state = self._last().state
        found = {name: getattr(state, name, None) for name in fields}
        if state is None or found != fields:
            raise AssertionError(f"the state is {state!r}, not one with {fields}")
        return self

    def then_deleted(self) -> "Given":
        """Expect that the aggregate of the last event is deleted: only its version is left."""
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
            yield f"{self.application.aggregate_of(type(event))}-1", event

    def _last(self) -> Snapshot[Any]:
        if not self.history:
            raise AssertionError("nothing has happened")
        return self._snapshot(*_aggregate(self.history[-1]))

    def _snapshot(self, aggregate_type: str, aggregate_id: str) -> Snapshot[Any]:
        this = (aggregate_type, aggregate_id)
        own = (one for one in self.history if _aggregate(one) == this)
        return fold(self.application.aggregate(aggregate_type), own)


def given(application: Application, *events: Event | GivenHistory) -> Given:
    """Begin a test with these events, in this order.

        given(app, placed).when(FillOrder(quantity=10, price_cents=1)).then(filled)
        given(app, placed).when(FillOrder(quantity=11, price_cents=1)).then_refused("OVERFILL")
        given(app, happened("p-1", opened)).shown_by(us_holder).then({"positions": 1})
        given(app, recorded).answered_by(award_points).then(Dispatch("card-1", AwardPoints(...)))

    Args:
        application: The application with the rules.
        *events: An event of an order alone happened to `order-1`; see `happened`.
    """
    return Given(application).given(*events)


def _aggregate(stored: StoredEvent) -> tuple[str, str]:
    return stored.event.aggregate_type, stored.event.aggregate_id


def recorded(
    catalog: Catalog, history: Sequence[StoredEvent], aggregate_id: str, payload: Event, at: int
) -> StoredEvent:
    """Return the next event of an aggregate as the decider writes it."""
    context = catalog.of(type(payload))
    aggregate_type, given = context.name, f"given-{len(history)}"
    this = (aggregate_type, aggregate_id)
    last = next((one for one in reversed(history) if _aggregate(one) == this), None)
    version = 1 if last is None else last.event.version + 1
    event = RecordedEvent(
        event_id=event_id(aggregate_type, aggregate_id, version),
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        version=version,
        index=0,
        count=1,
        command_id=given,
        command_digest=sha256(str(len(history)).encode()).digest(),
        correlation_id=given,
        causation_id=given,
        actor=None,
        traceparent=None,
        decided_at=at,
        source=Source(f"{aggregate_type}.commands", 0, len(history)),
        handler_version="1",
        previous_hash=b"" if last is None else sha256(last.value).digest(),
        payload=payload,
    )
    stored = StoredEvent(event, encode_event(context, event))
    require_lossless(context, stored)
    return stored


def require_lossless(context: AggregateContext, stored: StoredEvent) -> None:
    """Raise unless the bytes of an event give it back: an old schema loses fields."""
    payload = stored.event.payload
    try:
        found: object = decode_event(context, stored.value).payload
    except ValueError as error:
        found = error
    if found != payload:
        raise AssertionError(
            f"{payload!r} is kept as {found!r}: its class and its schema are not the same, run "
            "`verdict schemas write`"
        )
