"""Asking the rules of one aggregate, whose bugs must not become anybody else's problem."""

from functools import reduce
from typing import Any, NamedTuple

from verdict.model.aggregate import Aggregate
from verdict.model.command import Command, Refused
from verdict.model.message import Event, Message
from verdict.model.reason import Reason
from verdict.wire.catalog import AggregateContext
from verdict.wire.error_text import described, storable
from verdict.write_side.decide.parse import ReceivedCommand
from verdict.write_side.decide.record import EncodedEvent, decided_at, encode_events
from verdict.write_side.decide.respond import CheckFailedError
from verdict.write_side.decide.snapshot import Snapshot, encode_snapshot


class RuleOutcome(NamedTuple):
    """What the rules said yes to; `stored` is None when nothing happened."""

    events: tuple[EncodedEvent, ...]
    snapshot: Snapshot[Any]
    stored: bytes | None


def run_rules(
    context: AggregateContext, snapshot: Snapshot[Any], command: ReceivedCommand
) -> RuleOutcome:
    """Return the events that the rules decide on, numbered and encoded, and what they add up to.

    Encoding is part of it: events or a state that cannot be stored are a bug of the rules.

    Raises:
        CommandRejectedError: BUSINESS_RULE with the rule's own words, or HANDLER_ERROR for any
            failure.
    """
    decider = context.aggregate
    try:
        events = call_decide(decider, snapshot.state, command.payload)
        state = reduce(decider.evolve, events, snapshot.state)
        recorded, last_hash = encode_events(context, snapshot, command, events)
        if not events:
            return RuleOutcome((), snapshot, None)
        time = decided_at(snapshot, command)
        after = Snapshot(snapshot.version + len(events), state, last_hash, time)
        return RuleOutcome(recorded, after, encode_snapshot(context, after))
    except CheckFailedError:
        raise
    except Exception as error:  # a bug in the rules of one aggregate must not stop the others
        raise CheckFailedError(Reason.HANDLER_ERROR, described(error)) from error


def call_decide(decider: Aggregate[Any], state: Message | None, command: Command) -> list[Event]:
    """Return the events that the rules answer a command with.

    Raises:
        CommandRejectedError: BUSINESS_RULE, with the rule's own words.
        TypeError: It is no list of events; else whatever the rules raise.
    """
    try:
        events = decider.decide(state, command)
    except Refused as refused:
        numbers: dict[str, Any] = refused.numbers  # whatever an author counts by
        details = {name: _fitting(value) for name, value in numbers.items()}
        raise CheckFailedError(
            Reason.BUSINESS_RULE,
            storable(refused.message),
            {"code": storable(refused.code), **details},
        ) from refused
    if not isinstance(events, list):
        raise TypeError(f"decide returned {type(events).__name__}, not a list of events")
    return events


def _fitting(value: object) -> int | str:
    fits = type(value) is int and -(2**63) <= value < 2**63
    return value if fits else storable(value)  # type: ignore[return-value]
