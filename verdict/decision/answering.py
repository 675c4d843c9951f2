"""The responses: what the sender of a command is told."""

from typing import Any

from verdict.application import current
from verdict.decision.received import MalformedCommand, ReceivedCommand
from verdict.decision.recording import StoredEvent, decided_at
from verdict.decision.snapshot import Snapshot
from verdict.model.aggregate import Aggregate
from verdict.model.reason import Reason
from verdict.wire.response import Details, Response, Status


class Rejected(Exception):  # an answer, not an error
    """A check failed; the message is for the sender, with the numbers that decided."""

    def __init__(self, reason: Reason, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = details or {}


def acceptance(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    events: tuple[StoredEvent, ...],
    after: Snapshot[Any],
) -> Response:
    """Return the response to a command that caused `events`, from `snapshot` to `after`."""
    return Response.trusted(
        {
            **_about(decider, command),
            "status": Status.ACCEPTED,
            "from_version": snapshot.version,
            "to_version": after.version,
            "event_ids": [stored.event.event_id for stored in events],
            "reason": None,
            "message": None,
            "details": {},
            "expected_version": command.envelope.expected_version,
            "actual_version": None,
            "actual_state": None,
            "retriable": False,
            "decided_at": decided_at(snapshot, command),
            "last_hash": after.last_hash,
        }
    )


def rejection(
    decider: Aggregate[Any],
    snapshot: Snapshot[Any],
    command: ReceivedCommand,
    rejected: Rejected,
) -> Response:
    """Return the response to a command that failed a check against `snapshot`."""
    return Response.trusted(
        {
            **_about(decider, command),
            "status": Status.REJECTED,
            "from_version": snapshot.version,
            "to_version": snapshot.version,
            "event_ids": [],
            "reason": rejected.reason,
            "message": rejected.message,
            "details": rejected.details,
            "expected_version": command.envelope.expected_version,
            "actual_version": snapshot.version,
            "actual_state": snapshot.life_cycle,
            "retriable": rejected.reason.retriable,
            "decided_at": decided_at(snapshot, command),
            "last_hash": snapshot.last_hash,
        }
    )


def _about(decider: Aggregate[Any], command: ReceivedCommand) -> dict[str, Any]:
    return {
        "command_id": command.envelope.command_id,
        "command_digest": command.digest,
        "aggregate_type": command.aggregate_type,
        "aggregate_id": command.envelope.aggregate_id,
        "command_type": type(command.payload).__name__,
        "duplicate": False,
        "correlation_id": command.correlation_id,
        "source": command.record.source,
        "handler_version": decider.handler_version,
    }


def malformed(command: MalformedCommand) -> Response:
    """Return the response to a command that no aggregate could accept; no state is looked at."""
    return Response.trusted(
        {
            "command_id": command.command_id,
            "command_digest": None,
            "aggregate_type": command.aggregate_type,
            "aggregate_id": command.aggregate_id,
            "command_type": command.command_type,
            "status": Status.REJECTED,
            "duplicate": False,
            "from_version": None,
            "to_version": None,
            "event_ids": [],
            "reason": command.reason,
            "message": command.message,
            "details": command.details,
            "expected_version": None,
            "actual_version": None,
            "actual_state": None,
            "retriable": command.reason.retriable,
            "correlation_id": command.correlation_id,
            "source": command.record.source,
            "decided_at": command.record.timestamp,
            "handler_version": current().aggregate(command.aggregate_type).handler_version,
            "last_hash": None,
        }
    )
