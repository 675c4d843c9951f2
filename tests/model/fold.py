"""The commands log folded into what must have become of it: checks 2 to 6 of the contract."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from tests.model.reading import Asked, Malformed, Record, read
from tests.model.rules import BrokenError, State, events_of, starts_from, state_after

EVENT_IDS = UUID("6f1c3c52-6a0b-5d0c-9d55-0c7b6a4f7e11")

Place = tuple[str, int, int]  # topic, partition, offset
Identity = tuple[str, str]  # aggregate type, aggregate id
Event = dict[str, Any]
Response = dict[str, Any]


@dataclass
class Aggregate:
    """One aggregate: its history, what that adds up to, and the command ids it remembers."""

    version: int = 0
    state: State | None = None
    decided_at: int = 0
    history: list[Event] = field(default_factory=list)
    remembered: dict[str, Response] = field(default_factory=dict)

    @property
    def life_cycle(self) -> str:
        """NONE, ACTIVE or DELETED."""
        if self.version == 0:
            return "NONE"
        return "DELETED" if self.state is None else "ACTIVE"


@dataclass(frozen=True)
class Outcome:
    """What one command record must have led to.

    `response` is None for a dead letter. It has every field of a response but `message`, `details`
    and `handler_version`, whose wording is not the model's business.
    """

    record: Record
    response: Response | None
    events: tuple[Event, ...] = ()

    @property
    def rejected(self) -> bool:
        """Whether a rejection is written: a duplicate of a rejected command gets none."""
        found = self.response
        return found is not None and found["status"] == "REJECTED" and not found["duplicate"]


@dataclass(frozen=True)
class Expected:
    """What a whole commands log must have led to, by place of the command and by aggregate."""

    outcomes: dict[Place, Outcome]
    aggregates: dict[Identity, Aggregate]

    def counts(self) -> Counter[str]:
        """Return how many commands ended how: ACCEPTED, a reason, `duplicate`, `dead letter`."""
        return Counter(_ending(outcome.response) for outcome in self.outcomes.values())


def _ending(response: Response | None) -> str:
    if response is None:
        return "dead letter"
    return "duplicate" if response["duplicate"] else response["reason"] or "ACCEPTED"


def fold(records: Iterable[Record], *, topic_prefix: str = "") -> Expected:
    """Return what must have become of `records`, in whatever order they are given.

    Commands of one aggregate count in the order of their (partition, offset). Where one key is on
    two partitions, that is right only if all its records were decided in one micro-batch. Command
    ids are remembered, whatever the times of the records: no log takes as long as the memory lasts.
    """
    model = Model(topic_prefix=topic_prefix)
    in_order = sorted(records, key=lambda record: record[:3])
    return Expected({record[:3]: model.take(record) for record in in_order}, model.aggregates)


class Model:
    """Takes commands one by one, in order."""

    def __init__(self, *, topic_prefix: str = "") -> None:
        self.aggregates: dict[Identity, Aggregate] = {}
        self._prefix = topic_prefix

    def take(self, record: Record) -> Outcome:
        """Return what must become of the next record."""
        aggregate_type = record.topic.removeprefix(self._prefix).removesuffix(".commands")
        asked = read(aggregate_type, record)
        if asked is None:
            return Outcome(record, None)
        if isinstance(asked, Malformed):
            return Outcome(record, _malformed(aggregate_type, asked, record))
        identity = (aggregate_type, asked.envelope["aggregate_id"])
        aggregate = self.aggregates.setdefault(identity, Aggregate())
        return self._judge(identity, aggregate, asked, record)

    def _judge(
        self, identity: Identity, aggregate: Aggregate, asked: Asked, record: Record
    ) -> Outcome:
        answer = _about(identity, asked, record, aggregate)
        earlier = aggregate.remembered.get(answer["command_id"])
        if earlier:
            if earlier["command_digest"] != asked.digest:
                return Outcome(record, answer | _refusal("COMMAND_ID_REUSED", aggregate))
            own = {name: answer[name] for name in ("source", "correlation_id", "actor")}
            return Outcome(record, earlier | own | {"duplicate": True})
        happened, reason = _decision(aggregate, asked, record)
        response = answer | (_refusal(reason, aggregate) if reason else {})
        events = _recorded(identity, asked, response, happened)
        for event in events:
            aggregate.state = state_after(aggregate.state, event["type"], event["fields"])
            aggregate.version, aggregate.decided_at = event["version"], event["decided_at"]
            aggregate.history.append(event)
        response["to_version"] = aggregate.version
        response["event_ids"] = [event["event_id"] for event in events]
        aggregate.remembered[response["command_id"]] = response
        return Outcome(record, response, events)


def _decision(
    aggregate: Aggregate, asked: Asked, record: Record
) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
    """Return the events, or the reason of the first check that fails."""
    if asked.deadline is not None and record.timestamp > asked.deadline:
        return [], "EXPIRED"
    expected, state = asked.envelope["expected_version"], aggregate.life_cycle
    absent = {"NONE": "NOT_FOUND", "DELETED": "DELETED", "ACTIVE": "ALREADY_EXISTS"}
    if expected == "NO_STREAM" and aggregate.version > 0:
        return [], "ALREADY_EXISTS"
    if expected == "EXISTS" and state != "ACTIVE":
        return [], absent[state]
    if isinstance(expected, int) and expected != aggregate.version:
        return [], "VERSION_CONFLICT"
    if state not in starts_from(asked.payload["type"]):
        return [], absent[state]
    try:
        return events_of(asked.payload, aggregate.state), None
    except BrokenError:
        return [], "BUSINESS_RULE"


def _about(identity: Identity, asked: Asked, record: Record, aggregate: Aggregate) -> Response:
    return {
        "command_id": asked.envelope["command_id"],
        "command_digest": asked.digest,
        "aggregate_type": identity[0],
        "aggregate_id": identity[1],
        "command_type": asked.payload["type"],
        "status": "ACCEPTED",
        "duplicate": False,
        "from_version": aggregate.version,
        "to_version": aggregate.version,
        "event_ids": [],
        "reason": None,
        "expected_version": asked.envelope["expected_version"],
        "actual_version": None,
        "actual_state": None,
        "retriable": False,
        "correlation_id": asked.correlation_id,
        "source": record[:3],
        "decided_at": max(record.timestamp, aggregate.decided_at),
        "actor": asked.envelope.get("actor"),
    }


def _refusal(reason: str, aggregate: Aggregate) -> Response:
    return {
        "status": "REJECTED",
        "reason": reason,
        "actual_version": aggregate.version,
        "actual_state": aggregate.life_cycle,
    }


def _malformed(aggregate_type: str, asked: Malformed, record: Record) -> Response:
    unknown = ("command_digest", "from_version", "to_version", "expected_version")
    return dict.fromkeys((*unknown, "actual_version", "actual_state")) | {
        "command_id": asked.command_id,
        "aggregate_type": aggregate_type,
        "aggregate_id": asked.aggregate_id,
        "command_type": asked.command_type,
        "status": "REJECTED",
        "duplicate": False,
        "event_ids": [],
        "reason": asked.reason,
        "retriable": False,
        "correlation_id": asked.correlation_id,
        "source": record[:3],
        "decided_at": record.timestamp,
        "actor": asked.actor,
    }


def _recorded(
    identity: Identity,
    asked: Asked,
    response: Response,
    happened: list[tuple[str, dict[str, Any]]],
) -> tuple[Event, ...]:
    return tuple(
        {
            "event_id": str(uuid5(EVENT_IDS, "\0".join((*identity, str(version))))),
            "aggregate_type": identity[0],
            "aggregate_id": identity[1],
            "version": version,
            "index": index,
            "count": len(happened),
            "command_id": response["command_id"],
            "command_digest": asked.digest,
            "correlation_id": asked.correlation_id,
            "causation_id": response["command_id"],
            "actor": asked.envelope.get("actor"),
            "traceparent": asked.envelope.get("traceparent"),
            "decided_at": response["decided_at"],
            "source": response["source"],
            "type": event_type,
            "fields": fields,
        }
        for index, (event_type, fields) in enumerate(happened)
        for version in [response["from_version"] + 1 + index]
    )
