"""Check 1 of the contract: what can be said of a record without knowing any aggregate."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from tests.application import decode_command
from tests.model.fields import (
    AGGREGATE_ID,
    COMMAND_ID,
    ENVELOPE,
    NAME,
    PAYLOADS,
    fits,
    milliseconds,
    time,
)
from verdict.wire.codec import DecodeError

MAX_COMMAND_BYTES = 64 * 1024
KEY_LIMIT_BYTES = 1024
DEEPEST = 200  # levels of nesting that our JSON reader allows; the contract asks for some limit


class Record(NamedTuple):
    """One record of a commands log, with its value whole. `timestamp` is Kafka's, in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Asked:
    """A well-formed command; `payload` holds its type and the fields that were given."""

    envelope: Mapping[str, Any]
    payload: Mapping[str, Any]
    digest: bytes
    deadline: int | None

    @property
    def correlation_id(self) -> str:
        """The command's, else its id."""
        return str(self.envelope.get("correlation_id") or self.envelope["command_id"])


@dataclass(frozen=True)
class Malformed:
    """It can be answered, but never accepted."""

    command_id: str
    aggregate_id: str
    correlation_id: str
    actor: str | None
    command_type: str | None
    reason: str


def read(aggregate_type: str, record: Record) -> Asked | Malformed | None:
    """Return what the record asks for, or why it cannot be accepted, or None: a dead letter."""
    sent = _sent(aggregate_type, record.value)
    if sent is None:
        return None
    if not COMMAND_ID(sent.get("command_id")) or not AGGREGATE_ID(sent.get("aggregate_id")):
        return None
    reason = _fault(aggregate_type, sent, record.key)
    if reason is not None:
        return _malformed(aggregate_type, sent, reason)
    given = _given(aggregate_type, sent["payload"])
    deadline = sent.get("deadline")
    return Asked(
        envelope=sent,
        payload=given,
        digest=_digest(given),
        deadline=None if deadline is None else milliseconds(deadline),
    )


def _given(aggregate_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are there, times in epoch milliseconds however they were written."""
    fields = PAYLOADS[aggregate_type][payload["type"]]
    return {
        name: milliseconds(value) if fields.get(name, (None,))[0] is time else _filled(value)
        for name, value in payload.items()
        if value is not None
    }


def _filled(value: Any) -> Any:
    """Return a value without what is nothing inside it."""
    if isinstance(value, list):
        return [_filled(one) for one in value]
    if isinstance(value, dict):
        return {name: _filled(one) for name, one in value.items() if one is not None}
    return value


def _sent(aggregate_type: str, value: bytes | None) -> dict[str, Any] | None:
    if value is None or len(value) > MAX_COMMAND_BYTES:
        return None
    if value.startswith(b"{"):
        return _json(value)
    try:
        return decode_command(aggregate_type, value)
    except DecodeError:
        return None


def _json(value: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(value.decode(), parse_constant=_no_number)
        json.dumps(found, ensure_ascii=False).encode()  # fails on half a surrogate pair
        return found if _depth(found) <= DEEPEST else None
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, inside), default=-1)  # an empty one is as good as a number


def _fault(aggregate_type: str, sent: dict[str, Any], key: bytes | None) -> str | None:
    if key != sent["aggregate_id"].encode() or not fits(sent, ENVELOPE):
        return "INVALID_COMMAND"
    payload = dict(sent["payload"])
    name = payload.pop("type", None)
    if not isinstance(name, str):
        return "INVALID_COMMAND"
    if name not in PAYLOADS[aggregate_type]:
        return "UNKNOWN_TYPE"
    empty = all(value is None for value in payload.values())
    if not fits(payload, PAYLOADS[aggregate_type][name]) or (name == "ModifyOrder" and empty):
        return "INVALID_COMMAND"
    return None


def _malformed(aggregate_type: str, sent: dict[str, Any], reason: str) -> Malformed:
    payload, correlation = sent.get("payload"), sent.get("correlation_id") or ""
    name = payload.get("type") if isinstance(payload, dict) else None
    known = isinstance(name, str) and name in PAYLOADS[aggregate_type]
    return Malformed(
        command_id=sent["command_id"],
        aggregate_id=sent["aggregate_id"],
        correlation_id=str(correlation) if NAME(correlation) else sent["command_id"],
        actor=sent.get("actor") if NAME(sent.get("actor")) else None,
        command_type=name if known else None,
        reason=reason,
    )


def _digest(given: Mapping[str, Any]) -> bytes:
    canonical = json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(canonical.encode()).digest()
