"""Kafka's records to events, responses, rejections of policies' commands, and states; pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from pydantic import ValidationError

from verdict.model.integration import StateRecord
from verdict.model.message import name_rule
from verdict.model.nul import spell_out_nul, spell_out_nul_in
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery, Record, StateChange, UnreadableRecord
from verdict.read_side.projections.builtin.rows import (
    OutcomeRow,
    RejectedCommand,
    answered,
    rejected_command,
)
from verdict.wire.catalog import AggregateContext, catalog_of
from verdict.wire.error_text import kind_and_text
from verdict.wire.records import decode_event
from verdict.wire.topics import Topics

SHOWN_CHARS = 500
NO_ID = "no id: "
HEX_BYTES = 64  # of a key; of a longer one its hash is as good a name
new = tuple.__new__  # of a named tuple, whose own takes longer

Read = Callable[[bytes | None, bytes | None], Record | None]
"""Key and value of a record of Kafka to what it holds; None: nothing that is kept."""


@dataclass(frozen=True)
class RecordDecoder:
    """Decodes records of a deployment, one by one."""

    topics: Topics
    _readers: dict[str, Read] = field(default_factory=dict, init=False, repr=False, compare=False)

    def delivery(
        self, topic: str, partition: int, offset: int, key: bytes | None, value: bytes | None
    ) -> Delivery:
        """Return one of Kafka's records decoded, or with the reason why it cannot be."""
        record: Record | UnreadableRecord | None
        try:
            record = (self._readers.get(topic) or self._reader(topic))(key, value)
        except Exception as error:  # a bug or tampering, for the driver to report with the place
            record = _unreadable(error)
        kept = value if isinstance(record, RecordedEvent) else None
        return new(Delivery, (topic, partition, offset, record, kept))

    def _reader(self, topic: str) -> Read:
        reader = self._readers[topic] = self._made(topic)
        return reader

    def _made(self, topic: str) -> Read:
        for states in self.topics.application.state_topics:
            if topic == self.topics.named(states.topic):
                return partial(_carried, states.state)
        aggregate_type = self.topics.aggregate_of(topic)
        catalog = catalog_of(self.topics.application)
        if topic == self.topics.events(aggregate_type):
            context = catalog[aggregate_type]
            return partial(_of_aggregate, aggregate_type, partial(storable_event, context))
        if topic == self.topics.rejected(aggregate_type):
            return partial(
                _of_aggregate, aggregate_type, partial(rejected_command, catalog[aggregate_type])
            )
        return partial(_of_aggregate, aggregate_type, answered)


def _of_aggregate(
    aggregate_type: str,
    decode: Callable[[bytes], RecordedEvent | OutcomeRow | RejectedCommand | None],
    key: bytes | None,
    value: bytes | None,
) -> Record | None:
    if value is None:
        raise ValueError("the record has no value")
    record = decode(value)
    if record is None:
        return None
    if record.aggregate_id.encode() != key or record.aggregate_type != aggregate_type:
        raise ValueError(
            f"the record is of {record.aggregate_type} {record.aggregate_id!r}, its place is "
            f"that of {aggregate_type} {key!r}"
        )
    return record


def storable_event(context: AggregateContext, value: bytes) -> RecordedEvent:
    """Return an event whose texts both kinds of database can store; errors as `decode_event`."""
    event = decode_event(context, value)
    payload = spell_out_nul_in(event.payload)
    return event if payload is event.payload else event._replace(payload=payload)


def _carried(kind: type[StateRecord], key: bytes | None, value: bytes | None) -> StateChange:
    if key is None:
        raise ValueError("the record has no key")
    name = _name(key)
    if value is None:
        return StateChange(name, None)
    try:
        return StateChange(name, _state(kind, name, key, value))
    except Exception as error:  # whatever it is, it concerns this key alone
        return StateChange(name, _unreadable(error))


def _name(key: bytes) -> str:
    """Return the id that a key is; of a key that is none, a name that no id has."""
    try:
        name = name_rule.validate_python(key)
        if not name.startswith(NO_ID):
            return name
    except ValidationError:
        pass
    if len(key) <= HEX_BYTES:
        return f"{NO_ID}0x{key.hex()}"
    return f"{NO_ID}SHA-256 {sha256(key).hexdigest()}"


def _state(kind: type[StateRecord], name: str, key: bytes, value: bytes) -> StateRecord:
    if name.startswith(NO_ID):
        raise ValueError(f"the key {key!r} is no id")
    state = kind.model_validate_json(value)
    if state.id != name:
        raise ValueError(f"the state is that of {state.id!r}, its key is {name!r}")
    return spell_out_nul_in(state)


def _unreadable(error: Exception) -> UnreadableRecord:
    return UnreadableRecord(spell_out_nul(kind_and_text(error))[:SHOWN_CHARS])
