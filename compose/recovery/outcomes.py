"""From a response to the outcome that is remembered under its command id. Pure."""

from collections.abc import Iterable, Iterator

from aggregates.handle import Limits
from aggregates.operator.batch import outcome_entry
from aggregates.operator.shard_state import Entry, outcome_key
from compose.recovery.histories import Folded, Stored
from schemas.reason import Reason
from schemas.response import Response
from schemas.wire.codec import Undecodable
from schemas.wire.records import decode


def outcomes(responses: Iterable[Stored], limits: Limits, now: int) -> Iterator[Folded]:
    """Yield what of `responses` the state still remembers.

    When a command id comes twice, because it was used again after it had been forgotten, the
    later response counts.

    Args:
        responses: In any order.
        limits: How long an outcome is remembered.
        now: A time of Kafka's that the commands have reached, in milliseconds: what has expired
            before it is left out.

    Yields:
        The entry of the shard's state, byte for byte what the operator would have stored; a fault
        when a record is unreadable.
    """
    for stored in responses:
        try:
            response = decode(Response, stored.value)
        except Undecodable as error:
            yield Folded(stored, None, Entry(b""), f"{stored}: {error}")
            continue
        entry = outcome_entry(response, stored.value, limits)
        if is_remembered(response) and entry.expires_at >= now:
            key = outcome_key(response.aggregate_type, response.aggregate_id, response.command_id)
            yield Folded(stored, key, entry, None)


def is_remembered(response: Response) -> bool:
    """Tell whether this response answers its command id from now on.

    A duplicate repeats another response; a reused id belongs to another command; what nobody could
    accept has no digest; and after a bug of the rules the command may be tried again.
    """
    return not (
        response.duplicate
        or response.retriable
        or response.command_digest is None
        or response.reason == Reason.COMMAND_ID_REUSED
    )
