"""What a held aggregate waits for, and what can be decided about it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from verdict.errors import VerdictError
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.apply.batch import Delivery, UnreadableRecord
from verdict.read_side.projections.projection import Projection
from verdict.read_side.tables.blocked import AggregateKey, BlockedAggregate
from verdict.wire.error_text import problems
from verdict.wire.json import payload_from, payload_json

MOST_BYTES = 1024 * 1024  # of a payload that somebody writes, as of those of a command's events

Facts = dict[str, Any]


class NothingWaitsError(VerdictError):
    """There is no such item, or not any more."""

    def __init__(
        self, address: str, advice: str = "`verdict blocked list` shows what is blocked"
    ) -> None:
        super().__init__(f"nothing waits at {address!r}, perhaps not any more: {advice}")


class BlockedItem(NamedTuple):
    """What an aggregate waits for.

    Args:
        projection: That holds it, at the version that readers see.
        key: Of the aggregate.
        hold: The aggregate's.
        event: That cannot be applied, as it lies in the log; None: it is missing.
        payload: What is in force in its place, as JSON; None passes it over.
        events: What is archived from it on, as many as the archive gives at a time.
    """

    projection: Projection
    key: AggregateKey
    hold: BlockedAggregate
    event: RecordedEvent | UnreadableRecord | None
    payload: str | None
    events: Sequence[Delivery]


class MissingVersionError(VerdictError):
    """The event that an aggregate waits for is not there."""

    def __init__(self, address: str, hold: BlockedAggregate) -> None:
        super().__init__(
            f"{address}: version {hold.version_needed} is not in the archive: it is applied by "
            "itself as soon as it comes; see in `verdict status` how far event_archive is behind, "
            f"and when it is lost for good, `verdict blocked skip {address} --reason …`"
        )


class StateKeyError(VerdictError):
    """It is a state that cannot be applied, and nothing here can mend it."""

    def __init__(self, address: str, projection: Projection, topic: str) -> None:
        super().__init__(
            f"{address} is a state, which only the next record of its key supersedes: write the "
            f"whole state to {topic} again, or no value if there is none; when it is the code that "
            f"was mended, `verdict projection rebuild {projection.name}` reads it again"
        )


def passed_over(address: str, item: BlockedItem, all_behind: bool) -> range:
    """Return the versions to pass over: the one at fault, or those that are missing."""
    needed, seen = item.hold.version_needed, item.hold.version_seen
    if all_behind:
        return range(needed, seen + 1)
    if item.event is not None:
        return range(needed, needed + 1)
    first = next((one.record for one in item.events), None)
    if not isinstance(first, RecordedEvent):
        raise MissingVersionError(address, item.hold)
    return range(needed, first.version)


def still_fails(item: BlockedItem, after: BlockedAggregate | None) -> str | None:
    """Return why the event itself cannot be applied, None when it was."""
    waits = after is not None and after.version_needed == item.hold.version_needed
    return after.error if waits and after is not None else None


def behind(hold: BlockedAggregate) -> int:
    return hold.version_seen - hold.version_needed


def parse_payload(event: RecordedEvent, document: bytes) -> str:
    """Return a payload that fits the event's class, as JSON.

    Raises:
        VerdictError: It does not.
    """
    about = f"no payload for {type(event.payload).__name__}"
    if len(document) > MOST_BYTES:
        raise VerdictError(f"{about}: {len(document)} bytes, {MOST_BYTES} are allowed")
    try:
        return payload_json(payload_from(type(event.payload), document))
    except ValidationError as error:
        raise VerdictError(f"{about}: {problems(error, 'it')}") from error
    except ValueError as error:
        raise VerdictError(f"{about}: {error}") from error
