"""The outcomes that a recovered state remembers: from responses, and from events without one."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import NamedTuple

from verdict.adapters.kafka.offsets import Offsets
from verdict.model.reason import Reason
from verdict.model.recorded_event import event_id
from verdict.model.source import Source
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import encode
from verdict.wire.response import Response, Status
from verdict.wire.stored_event import StoredEvent
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import outcome_entry
from verdict.write_side.state.shard_state import StateEntry

Unanswered = Mapping[TopicPartition, Sequence[OffsetRange]]


class Memory(NamedTuple):
    """What a recovery knows about all responses together.

    Outcomes from before `since` are not remembered. Commands are decided up to `decided`. The
    responses to `unanswered` commands are lost; None means that they were not searched. If Kafka
    dropped no response, the log is `whole`, and each aggregate must have one.
    """

    limits: Limits
    since: int
    decided: Offsets
    unanswered: Unanswered | None = None
    whole: bool = True

    def is_unanswered(self, source: Source) -> bool:
        """Return whether the response to this command, which was decided, is lost."""
        if self.unanswered is None:
            return False
        spans = self.unanswered.get(TopicPartition.of(source), ())
        number = bisect_right(spans, source.offset, key=attrgetter("start"))
        return number > 0 and source.offset < spans[number - 1].end

    def entry(self, response: bytes) -> StateEntry:
        """Return the entry of the state for an outcome."""
        return outcome_entry(response, self.limits)


def is_remembered(response: Response) -> bool:
    """Return whether this response is the outcome of its command id from now on.

    A duplicate repeats another response. A reused id belongs to another command. An invalid
    command has no digest. A retriable command may be sent again.
    """
    return not (
        response.duplicate
        or response.retriable
        or response.command_digest is None
        or response.reason == Reason.COMMAND_ID_REUSED
    )


def derived(last: StoredEvent) -> bytes:
    """Return the response to a command whose own is lost, from the last event of the command.

    The event does not have the command's type and the version that the sender expected.
    """
    event, value = last
    identity = event.aggregate_type, event.aggregate_id
    first = event.version - event.count + 1
    response = Response(
        command_id=event.command_id,
        command_digest=event.command_digest,
        aggregate_type=event.aggregate_type,
        aggregate_id=event.aggregate_id,
        command_type=None,
        status=Status.ACCEPTED,
        duplicate=False,
        from_version=first - 1,
        to_version=event.version,
        event_ids=[event_id(*identity, version) for version in range(first, event.version + 1)],
        reason=None,
        message=None,
        details={},
        expected_version=None,
        actual_version=None,
        actual_state=None,
        retriable=False,
        correlation_id=event.correlation_id,
        source=event.source,
        decided_at=event.decided_at,
        handler_version=event.handler_version,
        last_hash=sha256(value).digest(),
        actor=event.actor,
    )
    return encode(response)
