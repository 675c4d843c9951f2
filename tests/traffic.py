"""Random commands of every kind, good and bad, that know where their aggregates stand."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.application import APPLICATION, encode_command
from tests.model import Aggregate, Model, Record
from verdict.model.command_envelope import CommandEnvelope

START = 1_795_000_000_000  # a time of Kafka's, in ms
HOUR_MS = 60 * 60 * 1000

DeadLetterRecord = tuple[str, dict[str, Any]]  # aggregate type, envelope with its payload
Spoiled = tuple[bytes | None, bytes | None]  # key, value

ENDING = ("CancelOrder", "DeleteOrder", "ClosePosition")  # rarer, so that there is a life before
FEW = tuple(range(1, 7))
FIELDS: dict[str, tuple[Any, ...]] = {
    "client": ("client1", "client2", "ünïcode 客"),
    "ticker": ("AAPL", "VOD"),
    "exchange": ("NASDAQ", "LON"),
    "side": ("BUY", "SELL"),
    "amount": (*FEW, 2**63 - 1),
    "quantity": FEW,
    "limit_price_cents": (100, 101),
    "price_cents": (100, 99),
    "cause": (None, "too slow"),
    "program": ("chess", "go"),
    "at": (START, START + 1, "2026-11-21T13:00:00.5+01:00"),
}
STEPS_MS = (*(0, 0, 1, 7, 1000, -1, -900) * 4, 13 * HOUR_MS)


class Traffic:
    """Writes one record after the other, as careless senders would."""

    def __init__(self, random: Random, aggregates: int = 3) -> None:
        self.random = random
        self._ids = [f"{n}-é" for n in range(aggregates)]
        self._clock = START
        self._written = 0
        self._letters: list[DeadLetterRecord] = []

    def next(self, model: Model) -> Record:
        """Return a record of any kind; `model` has taken all before it."""
        kinds = (self.ask, self.repeat, self.reuse, self.spoil)
        return self.random.choices(kinds, weights=(20, 4, 2, 3))[0](model)

    def ask(self, model: Model) -> Record:
        """Ask for something, mostly with the right version."""
        aggregate_type = self.random.choice(("enrolment", "order", "order", "position", "position"))
        aggregate_id = self.random.choice(self._ids)
        at = model.aggregates.get((aggregate_type, aggregate_id), Aggregate())
        letter = (
            aggregate_type,
            {
                "command_id": f"c-{len(self._letters)}",
                "aggregate_id": aggregate_id,
                "expected_version": self._expectation(at.version),
                "payload": self._payload(aggregate_type, at),
                **self._extras(),
            },
        )
        self._letters.append(letter)
        return self._write(letter)

    def repeat(self, model: Model) -> Record:
        """Send an earlier command again: same id and payload, perhaps another envelope."""
        if not self._letters:
            return self.ask(model)
        aggregate_type, envelope = self.random.choice(self._letters[-20:])
        again = {name: envelope[name] for name in ("command_id", "aggregate_id", "payload")}
        expected = self.random.choice((envelope["expected_version"], 99, "EXISTS"))
        return self._write(
            (aggregate_type, again | {"expected_version": expected} | self._extras())
        )

    def reuse(self, model: Model) -> Record:
        """Send another command under an earlier one's id."""
        if not self._letters:
            return self.ask(model)
        aggregate_type, envelope = self.random.choice(self._letters[-20:])
        at = model.aggregates.get((aggregate_type, envelope["aggregate_id"]), Aggregate())
        other = {"payload": self._payload(aggregate_type, at)}
        return self._write((aggregate_type, envelope | other))

    def spoil(self, model: Model) -> Record:
        """Send something that cannot be accepted, or cannot be read."""
        good = self.ask(model)
        self._letters.pop()  # the command was never sent
        key, value = self.random.choice(DAMAGES)(good, self.random)
        return good._replace(key=key, value=value)

    def _expectation(self, version: int) -> int | str:
        near = (version, version, version, version, max(version - 1, 0), version + 1)
        return self.random.choice((*near, "ANY", "ANY", "EXISTS", "NO_STREAM"))

    def _payload(self, aggregate_type: str, at: Aggregate) -> dict[str, Any]:
        types = APPLICATION.aggregate(aggregate_type).command_types
        creating = {
            "enrolment": "EnrolParticipant",
            "order": "PlaceOrder",
            "position": "OpenPosition",
        }[aggregate_type]
        create = at.state is None and self.random.random() < 0.7
        names = sorted(types)
        weights = [1 if name in ENDING else 4 for name in names]
        name = creating if create else self.random.choices(names, weights)[0]
        fields = {field: self.random.choice(FIELDS[field]) for field in types[name].model_fields}
        if name == "ModifyOrder":
            fields[self.random.choice(("quantity", "limit_price_cents"))] = None
        return {"type": name} | fields

    def _extras(self) -> dict[str, Any]:
        extras = {
            "deadline": self._clock + self.random.choice((-1, 0, 1, HOUR_MS)),
            "correlation_id": self.random.choice(("flow-1", "flow-2")),
            "causation_id": "cause-1",
            "actor": "ada",
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "issued_at": self._clock - 5,
        }
        return {name: extras[name] for name in extras if self.random.random() < 0.2}

    def _write(self, letter: DeadLetterRecord) -> Record:
        aggregate_type, envelope = letter
        self._clock += self.random.choice(STEPS_MS)
        self._written += 1
        in_json = self.random.random() < 0.5
        value = json.dumps(envelope).encode() if in_json else in_avro(aggregate_type, envelope)
        topic, key = f"{aggregate_type}.commands", envelope["aggregate_id"].encode()
        return Record(topic, 0, self._written, self._clock, key, value)


def in_avro(aggregate_type: str, envelope: dict[str, Any]) -> bytes:
    """Return an envelope with its payload as our client would send it."""
    fields = dict(envelope["payload"])
    payload = (
        APPLICATION.aggregate(aggregate_type)
        .command_types[fields.pop("type")]
        .model_validate(fields)
    )
    return encode_command(aggregate_type, CommandEnvelope.model_validate(envelope), payload)


def _changed(change: Callable[[dict[str, Any], Random], object]) -> Callable[..., Spoiled]:
    """Return the damage that `change` does to a command in JSON."""

    def damage(good: Record, random: Random) -> Spoiled:
        plain = {"enrolment": "ActivateParticipant", "order": "CancelOrder"}
        kind = good.topic.removesuffix(".commands")
        payload = {"type": plain.get(kind, "ClosePosition")}
        key = good.key or b""
        envelope: dict[str, Any] = {
            "command_id": f"bad-{good.offset}",
            "aggregate_id": key.decode(),
            "expected_version": "ANY",
            "payload": payload,
        }
        change(envelope, random)
        return key, json.dumps(envelope).encode()

    return damage


def _cut(good: Record, random: Random) -> Spoiled:
    value = good.value or b""
    return good.key, value[: random.randrange(len(value))]


def _flipped(good: Record, random: Random) -> Spoiled:
    value = bytearray(good.value or b"")
    value[random.randrange(len(value))] ^= 1 << random.randrange(8)
    return good.key, bytes(value)


DAMAGES: tuple[Callable[[Record, Random], Spoiled], ...] = (
    _changed(lambda envelope, random: envelope.pop(random.choice(sorted(envelope)))),
    _changed(lambda envelope, random: envelope.update(colour="red")),
    _changed(lambda envelope, random: envelope.update(expected_version=random.choice((-1, 2.0)))),
    _changed(lambda envelope, random: envelope.update(deadline="tomorrow")),
    _changed(lambda envelope, random: envelope["payload"].update(type="Explode")),
    _changed(lambda envelope, random: envelope["payload"].pop("type")),
    _changed(lambda envelope, random: envelope["payload"].update(surprise=1)),
    lambda good, random: (b"another key", good.value),
    lambda good, random: (None, good.value),
    lambda good, random: (good.key, None),
    lambda good, random: (b"\xff\xfe", b"garbage"),
    lambda good, random: (good.key, b"\0\0\0\0\x63" + (good.value or b"")[5:]),
    lambda good, random: (good.key, b"{" * 70_000),
    _cut,
    _flipped,
)
