"""The plain way to decide: each record becomes an object, each object is encoded as its class says.

Slow, and obviously right: the reference for the way from bytes to bytes. What is malformed is read
in one way only, so the words for it are not here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from tests.application import APPLICATION, CATALOG
from verdict.model.aggregate import Aggregate
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.message import Event, iso_time
from verdict.model.reason import Reason
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.avro.envelope import sliced
from verdict.wire.catalog import AggregateContext, Catalog
from verdict.wire.cloud_events import dead_letter_headers, event_headers
from verdict.wire.codec import DecodeError
from verdict.wire.command_record import CommandRecord, dead_letter
from verdict.wire.commands import decode_command
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.error_text import described
from verdict.wire.headers import joined, reply_name
from verdict.wire.records import decode, encode, encode_event
from verdict.wire.response import NOT_KNOWN, Rejection, Response, Status
from verdict.wire.topics import Topics
from verdict.write_side.decide import command_checks
from verdict.write_side.decide.command_checks import Limits, call_decide
from verdict.write_side.decide.digest import CANONICAL
from verdict.write_side.decide.parse import CheckFailedError, ReceivedCommand, parse_command
from verdict.write_side.decide.snapshot import (
    NEVER_EXISTED,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
)
from verdict.write_side.processor.batch import outcome_entry
from verdict.write_side.state.shard_state import DictState, StateEntry, outcome_key, snapshot_key

TOPICS = Topics(APPLICATION)


def outputs_of(
    records: Iterable[CommandRecord], state: DictState, limits: Limits, catalog: Catalog = CATALOG
) -> Iterator[OutputRecord]:
    """Yield what the operator puts out for one record after the other, each a batch of its own."""
    for record in records:
        context = catalog[TOPICS.aggregate_of(record.source.topic)]
        asked = Asked.of(context, record)
        if asked is None:
            yield from _unfit(context, record)
        else:
            yield from asked.judged(state, limits)


def _unfit(context: AggregateContext, record: CommandRecord) -> Iterator[OutputRecord]:
    received = parse_command(context, record)
    assert not isinstance(received, ReceivedCommand), "the plain way cannot read it"
    if isinstance(received, DeadLetter):
        yield _letter(received, None)
    else:
        yield from _answers(received, record, None)


def _letter(letter: DeadLetter, attempt: int | None) -> OutputRecord:
    headers = joined(dead_letter_headers(letter, attempt))
    return OutputRecord("dead-letters", letter.key, encode(letter), headers, attempt is None)


def _answers(
    response: Response, record: CommandRecord, traceparent: str | None
) -> Iterator[OutputRecord]:
    key, of = response.aggregate_id.encode(), response.aggregate_type
    headers = joined({"traceparent": traceparent} if traceparent else {})
    replayable = response.reason != "HANDLER_ERROR"
    if response.reason is not None and not response.duplicate:
        rejection = Rejection(**dict(response), command_bytes=record.value or b"")
        yield OutputRecord(TOPICS.rejected(of), key, encode(rejection), headers, replayable)
    yield OutputRecord(TOPICS.responses(of), key, encode(response), headers, replayable)
    if (name := reply_name(record.reply_to)) is not None:
        yield OutputRecord(TOPICS.replies, name, encode(response), "", replayable)


def digest(payload: Command) -> bytes:
    """Return the digest of a command by what pydantic says of its fields."""
    fields = payload.model_dump(exclude_defaults=True) | {"type": type(payload).__name__}
    return sha256(CANONICAL.encode(fields).encode()).digest()


@dataclass(frozen=True)
class Asked:
    """A well-formed command, all of it as objects."""

    context: AggregateContext
    envelope: CommandEnvelope
    payload: Command
    record: CommandRecord

    @property
    def rules(self) -> Aggregate[Any]:
        return self.context.aggregate

    @classmethod
    def of(cls, context: AggregateContext, record: CommandRecord) -> "Asked | None":
        if record.cut or record.value is None:
            return None
        try:
            sent = decode_command(context, record.value)
            envelope = CommandEnvelope.model_validate(sent)
            fields = dict(envelope.payload)
            kind = context.aggregate.command_types[fields.pop("type")]
            payload = kind.model_validate(fields)
        except (DecodeError, ValidationError, KeyError, TypeError):
            return None
        if record.key != envelope.aggregate_id.encode():
            return None
        return cls(context, envelope, payload, record)

    def judged(self, state: DictState, limits: Limits) -> Iterator[OutputRecord]:
        of, ids = self.rules.name, self.envelope
        at = snapshot_key(of, ids.aggregate_id)
        asked = outcome_key(of, ids.aggregate_id, ids.command_id)
        kept, told = state.get(at), state.get(asked)
        before = NEVER_EXISTED if kept is None else decode_snapshot(self.context, kept)
        earlier = None if told is None else decode(Response, told)
        response, events, after = self._verdict(before, earlier, limits)
        changed: dict[bytes, StateEntry] = {}
        if events:
            changed[at] = StateEntry(encode_snapshot(self.context, after))
        if told is None and not response.retriable:
            changed[asked] = outcome_entry(encode(response), limits)
        state.commit(changed, 0)
        for event in events:
            topic, value = TOPICS.events(of), encode_event(self.context, event)
            yield OutputRecord(topic, self.record.key, value, joined(event_headers(event)), True)
        yield from _answers(response, self.record, ids.traceparent)
        if response.reason == Reason.HANDLER_ERROR:
            letter = dead_letter(self.record, f"HANDLER_ERROR {response.message}")
            yield _letter(letter, self.record.attempt)

    def _verdict(
        self, before: Snapshot[Any], earlier: Response | None, limits: Limits
    ) -> tuple[Response, list[RecordedEvent], Snapshot[Any]]:
        if earlier is not None and earlier.command_digest == digest(self.payload):
            own = {
                "source": self.record.source,
                "correlation_id": self._correlation_id,
                "actor": self.envelope.actor,
            }
            return earlier.model_copy(update={"duplicate": True} | own), [], before
        try:
            self._check(before, earlier)
            events, after = self._accepted(before, limits)
        except CheckFailedError as rejected:
            return self._refused(before, rejected), [], before
        response = self._response(
            before,
            status=Status.ACCEPTED,
            from_version=before.version,
            to_version=after.version,
            event_ids=[one.event_id for one in events],
            last_hash=after.last_hash,
        )
        return response, events, after

    def _check(self, before: Snapshot[Any], earlier: Response | None) -> None:
        """Make the checks of the engine, which the model judges."""
        if earlier is not None:
            raise CheckFailedError(
                Reason.COMMAND_ID_REUSED,
                f"command id {self.envelope.command_id!r} was already used for a "
                f"{earlier.command_type} at {iso_time(earlier.decided_at)}: send a new id",
            )
        read = sliced(self.envelope)
        asked = ReceivedCommand(self.rules.name, read, self.payload, b"", b"", self.record)
        command_checks._check_quarantine(asked, before)
        command_checks._check_deadline(asked)
        command_checks._check_expectation(asked, before)
        command_checks._check_life_cycle(asked, before)

    def _accepted(
        self, before: Snapshot[Any], limits: Limits
    ) -> tuple[list[RecordedEvent], Snapshot[Any]]:
        try:
            payloads = call_decide(self.rules, before.state, self.payload)
            state = reduce(self.rules.evolve, payloads, before.state)
            events, last_hash = self._recorded(before, payloads)
            if not events:
                return [], before
            after = Snapshot(before.version + len(events), state, last_hash, self._time(before))
            encode_snapshot(self.context, after)
        except CheckFailedError:
            raise
        except Exception as error:
            # below the frame of this file, which is none of the application's
            below = error.__traceback__ and error.__traceback__.tb_next
            told = described(error.with_traceback(below))
            raise CheckFailedError(Reason.HANDLER_ERROR, told) from error
        if (
            size := sum(len(encode_event(self.context, one)) for one in events)
        ) > limits.events_bytes:
            limit = limits.events_bytes
            raise CheckFailedError(
                Reason.TOO_LARGE,
                f"its {len(events)} events take {size} bytes: {limit} are allowed",
                {"bytes": size, "limit": limit},
            )
        return events, after

    def _recorded(
        self, before: Snapshot[Any], payloads: list[Event]
    ) -> tuple[list[RecordedEvent], bytes]:
        envelope, last_hash, found = self.envelope, before.last_hash, list[RecordedEvent]()
        for index, payload in enumerate(payloads):
            version = before.version + 1 + index
            event = RecordedEvent(
                event_id=event_id(self.rules.name, envelope.aggregate_id, version),
                aggregate_type=self.rules.name,
                aggregate_id=envelope.aggregate_id,
                version=version,
                index=index,
                count=len(payloads),
                command_id=envelope.command_id,
                command_digest=digest(self.payload),
                correlation_id=self._correlation_id,
                causation_id=envelope.command_id,
                actor=envelope.actor,
                traceparent=envelope.traceparent,
                decided_at=self._time(before),
                source=self.record.source,
                handler_version=self.rules.handler_version,
                previous_hash=last_hash,
                payload=payload,
            )
            last_hash = sha256(encode_event(self.context, event)).digest()
            found.append(event)
        return found, last_hash

    def _refused(self, before: Snapshot[Any], rejected: CheckFailedError) -> Response:
        state: dict[str, Any] = {"expected_version": None}
        if not before.quarantined:
            state = dict.fromkeys(("from_version", "to_version", "actual_version"), before.version)
            state |= {"actual_state": before.life_cycle, "last_hash": before.last_hash}
        return self._response(
            before,
            status=Status.REJECTED,
            reason=rejected.reason,
            message=rejected.message,
            details=rejected.details,
            retriable=rejected.reason.retriable,
            **state,
        )

    def _response(self, before: Snapshot[Any], **more: Any) -> Response:
        about = {
            "command_id": self.envelope.command_id,
            "command_digest": digest(self.payload),
            "aggregate_type": self.rules.name,
            "aggregate_id": self.envelope.aggregate_id,
            "command_type": type(self.payload).__name__,
            "expected_version": self.envelope.expected_version,
            "correlation_id": self._correlation_id,
            "source": self.record.source,
            "decided_at": self._time(before),
            "handler_version": self.rules.handler_version,
            "actor": self.envelope.actor,
        }
        return Response(**NOT_KNOWN | about | more)

    def _time(self, before: Snapshot[Any]) -> int:
        return max(self.record.timestamp, before.decided_at)

    @property
    def _correlation_id(self) -> str:
        return self.envelope.correlation_id or self.envelope.command_id
