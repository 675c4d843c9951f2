"""The decision about a command: each check in its order, and the first failure wins."""

from functools import reduce
from typing import Any, NamedTuple

from verdict.model.aggregate import Aggregate
from verdict.model.command import Command, LifeCycle, Refused
from verdict.model.command_envelope import Expectation
from verdict.model.message import Event, Message, iso_time
from verdict.model.reason import Reason
from verdict.wire.catalog import AggregateContext
from verdict.wire.error_text import described, storable
from verdict.wire.records import decode, encode, event_around
from verdict.wire.response import Response
from verdict.wire.stored_event import StoredEvent
from verdict.write_side.decide.event_encoding import EncodedEvent, decided_at, encode_events
from verdict.write_side.decide.parse import CheckFailedError, ReceivedCommand
from verdict.write_side.decide.respond import accepted_response, rejected_response
from verdict.write_side.decide.snapshot import Snapshot, encode_snapshot


class Limits(NamedTuple):
    """What bounds a decision: the encoded events of a command, and the memory of command ids."""

    events_bytes: int = 2**20
    memory_ms: int = 24 * 60 * 60 * 1000


class DecidedCommand(NamedTuple):
    """What became of one command.

    `answer` is the response's bytes; `refused` says why, if it is a new rejection. `recorded` are
    the events' bytes. `snapshot` is the aggregate afterwards and `stored` its encoding, None if the
    command caused no event. `remembered` says whether the command id has this answer from now on.
    """

    context: AggregateContext
    answer: bytes
    refused: Reason | None
    recorded: tuple[EncodedEvent, ...]
    snapshot: Snapshot[Any]
    stored: bytes | None
    remembered: bool

    @property
    def response(self) -> Response:
        """The response, read from its bytes."""
        return decode(Response, self.answer)

    @property
    def events(self) -> tuple[StoredEvent, ...]:
        """The events, as they were recorded."""
        return tuple(
            StoredEvent(event_around(self.context, payload, value), value)
            for _, payload, value in self.recorded
        )


def handle(
    context: AggregateContext,
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    earlier: Response | None,
    limits: Limits,
) -> DecidedCommand:
    """Decide `command`; pure."""
    if earlier is not None:
        return _answer_again(context, snapshot, command, earlier)
    try:
        _check_quarantine(command, snapshot)
        _check_deadline(command)
        _check_expectation(command, snapshot)
        _check_life_cycle(command, snapshot)
        return _accept(context, snapshot, command, limits)
    except CheckFailedError as rejected:
        return _refuse(context, snapshot, command, rejected)


def _refuse(
    context: AggregateContext,
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    rejected: CheckFailedError,
) -> DecidedCommand:
    answer = rejected_response(context.aggregate, snapshot, command, rejected)
    reason = rejected.reason
    return DecidedCommand(
        context, answer, reason, (), snapshot, None, remembered=not reason.retriable
    )


def _answer_again(
    context: AggregateContext, snapshot: Snapshot[Any], command: ReceivedCommand, earlier: Response
) -> DecidedCommand:
    if earlier.command_digest == command.digest:
        own = {
            "source": command.record.source,
            "correlation_id": command.envelope.correlation_id,
            "actor": command.envelope.sender,
        }
        response = earlier.model_copy(update={"duplicate": True, **own})
        return DecidedCommand(context, encode(response), None, (), snapshot, None, remembered=False)
    taken = CheckFailedError(
        Reason.COMMAND_ID_REUSED,
        f"command id {command.envelope.command_id!r} was already used for a "
        f"{earlier.command_type} at {iso_time(earlier.decided_at)}: send a new id",
    )
    return _refuse(context, snapshot, command, taken)._replace(remembered=False)


def _check_quarantine(command: ReceivedCommand, snapshot: Snapshot[Any]) -> None:
    if snapshot.quarantined:
        raise CheckFailedError(
            Reason.QUARANTINED,
            f"{_name(command)} is quarantined: its history is damaged from version "
            f"{snapshot.version} on; send the command again when the quarantine is lifted",
            {"version": snapshot.version},
        )


def _check_deadline(command: ReceivedCommand) -> None:
    deadline, arrived = command.envelope.deadline, command.record.timestamp
    if deadline is not None and arrived > deadline:
        raise CheckFailedError(
            Reason.EXPIRED,
            f"reached Kafka at {iso_time(arrived)}, {arrived - deadline} ms after its deadline "
            f"{iso_time(deadline)}",
            {"late_ms": arrived - deadline},
        )


def _check_expectation(command: ReceivedCommand, snapshot: Snapshot[Any]) -> None:
    expected, state = command.envelope.expected_version, snapshot.life_cycle
    if isinstance(expected, Expectation):
        if expected is Expectation.NO_STREAM and snapshot.version != 0:
            raise CheckFailedError(
                Reason.ALREADY_EXISTS,
                f"expected no {_name(command)}, it is {state} at version {snapshot.version}",
            )
        if expected is Expectation.EXISTS and state is not LifeCycle.ACTIVE:
            raise _absent(command, snapshot)
    elif expected != snapshot.version:
        raise CheckFailedError(
            Reason.VERSION_CONFLICT,
            f"expected version {expected}, {_name(command)} is {state} at version "
            f"{snapshot.version}",
        )


def _check_life_cycle(command: ReceivedCommand, snapshot: Snapshot[Any]) -> None:
    state = snapshot.life_cycle
    if state in command.payload.starts_from:
        return
    if state is LifeCycle.ACTIVE:
        raise CheckFailedError(
            Reason.ALREADY_EXISTS,
            f"{type(command.payload).__name__} needs a new {command.aggregate_type}, "
            f"{_name(command)} is {state} at version {snapshot.version}",
        )
    raise _absent(command, snapshot)


def _absent(command: ReceivedCommand, snapshot: Snapshot[Any]) -> CheckFailedError:
    if snapshot.life_cycle is LifeCycle.DELETED:
        message = f"{_name(command)} was deleted at version {snapshot.version}"
        return CheckFailedError(Reason.DELETED, message)
    return CheckFailedError(Reason.NOT_FOUND, f"{_name(command)} does not exist")


def _name(command: ReceivedCommand) -> str:
    return f"{command.aggregate_type} {command.envelope.aggregate_id!r}"


def _accept(
    context: AggregateContext, snapshot: Snapshot[Any], command: ReceivedCommand, limits: Limits
) -> DecidedCommand:
    events, after, stored = _run_rules(context, snapshot, command)
    size = sum([len(event.value) for event in events])
    if size > limits.events_bytes:
        raise CheckFailedError(
            Reason.TOO_LARGE,
            f"its {len(events)} events take {size} bytes: {limits.events_bytes} are allowed",
            {"bytes": size, "limit": limits.events_bytes},
        )
    answer = accepted_response(context.aggregate, snapshot, command, events, after)
    return DecidedCommand(context, answer, None, events, after, stored, remembered=True)


def _run_rules(
    context: AggregateContext, snapshot: Snapshot[Any], command: ReceivedCommand
) -> tuple[tuple[EncodedEvent, ...], Snapshot[Any], bytes | None]:
    """Return the encoded events that the rules decide on, the snapshot after them, and its bytes.

    Encoding is part of it: events or a state that cannot be stored are a bug of the rules.
    """
    decider = context.aggregate
    try:
        events = call_decide(decider, snapshot.state, command.payload)
        state = reduce(decider.evolve, events, snapshot.state)
        recorded, last_hash = encode_events(context, snapshot, command, events)
        if not events:
            return (), snapshot, None
        time = decided_at(snapshot, command)
        after = Snapshot(snapshot.version + len(events), state, last_hash, time)
        return recorded, after, encode_snapshot(context, after)
    except CheckFailedError:
        raise
    except Exception as error:  # a bug in the rules of one aggregate must not stop the others
        raise CheckFailedError(Reason.HANDLER_ERROR, described(error)) from error


def call_decide(decider: Aggregate[Any], state: Message | None, command: Command) -> list[Event]:
    """Return the events that the rules answer a command with; raises what they raise."""
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
