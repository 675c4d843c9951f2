"""Responses as the decider writes them."""

from collections.abc import Iterable

from verdict.model.command import LifeCycle
from verdict.model.command_envelope import Expectation
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.read_side.apply.batch import Delivery, ProjectionBatch
from verdict.read_side.projections.builtin.rows import answered
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import encode
from verdict.wire.response import Response, Status

TOPIC = "order.responses"
NOON = 1_795_262_400_000  # 2026-11-21T12:00:00Z

ACCEPTED = Response(
    command_id="c-1",
    command_digest=b"\1" * 32,
    aggregate_type="order",
    aggregate_id="order-1",
    command_type="PlaceOrder",
    status=Status.ACCEPTED,
    duplicate=False,
    from_version=0,
    to_version=1,
    event_ids=["e-1"],
    reason=None,
    message=None,
    details={},
    actor="ada",
    expected_version=0,
    actual_version=None,
    actual_state=None,
    retriable=False,
    correlation_id="flow-1",
    source=Source("order.commands", 2, 40),
    decided_at=NOON,
    handler_version="1",
    last_hash=b"\1" * 32,
)
REJECTED = ACCEPTED.model_copy(
    update={
        "command_id": "c-2",
        "command_digest": b"\2" * 32,
        "command_type": "ModifyOrder",
        "status": Status.REJECTED,
        "duplicate": True,
        "from_version": 1,
        "event_ids": [],
        "reason": Reason.DELETED,
        "message": "order-1 is deleted",
        "details": {"code": "not of a rule"},
        "expected_version": Expectation.EXISTS,
        "actual_version": 1,
        "actual_state": LifeCycle.DELETED,
        "source": Source("order.commands", 2, 41),
        "decided_at": NOON + 1,
    }
)
NOTHING = ("command_digest", "command_type", "from_version", "to_version", "actor",
           "expected_version", "last_hash")  # fmt: skip
MALFORMED = ACCEPTED.model_copy(
    update={
        **dict.fromkeys(NOTHING),
        "command_id": "c-3",
        "status": Status.REJECTED,
        "event_ids": [],
        "reason": Reason.UNKNOWN_TYPE,
        "message": "order has no command 'Explode'",
        "correlation_id": "c-3",
        "source": Source("order.commands", 2, 42),
        "decided_at": NOON + 2,
    }
)


def batch_of(responses: Iterable[Response], start: int = 0) -> ProjectionBatch:
    """Return a batch with these responses, one behind the other on one partition."""
    found = [
        Delivery(TOPIC, 0, start + n, answered(encode(one))) for n, one in enumerate(responses)
    ]
    return ProjectionBatch(
        found, {TopicPartition(TOPIC, 0): OffsetRange(start, start + len(found))}
    )
