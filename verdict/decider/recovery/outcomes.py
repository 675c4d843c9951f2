"""From a response to the outcome that its command id stands for, and to what it says of events."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from verdict.decider.recovery.histories import Folded, Lost, Stand, Stored, deleted
from verdict.decision.handle import Limits
from verdict.kafka.offsets import Offsets, at
from verdict.model.application import Application
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.operator.batch import outcome_entry
from verdict.operator.shard_state import outcome_key, snapshot_key
from verdict.wire.catalog import catalog_of
from verdict.wire.codec import Undecodable
from verdict.wire.decision import Decision
from verdict.wire.records import decode
from verdict.wire.response import Response


def outcomes(
    application: Application,
    responses: Iterable[Stored],
    limits: Limits,
    since: int,
    decided: Offsets,
    lost: Lost = MappingProxyType({}),
) -> Iterator[Folded]:
    """Yield what of `responses` the state still remembers, and what each says of its aggregate.

    When a command id comes twice, because it was used again after it had been forgotten, the
    later response counts.

    Args:
        application: Whose responses they are.
        responses: In any order.
        limits: How long an outcome is remembered.
        since: A time of Kafka's, in milliseconds: the outcomes of responses from before it are
            left out.
        decided: How far commands are decided: marker and responses came in one transaction.
        lost: What is on record as lost, since a recovery of before.

    Yields:
        The entry of the shard's state, as the operator would have stored it; the aggregate's stand
        after the command, and what takes its place if that is lost and accepted, or on record; a
        fault when a record is unreadable, or answers what is not decided.
    """
    for stored in responses:
        if stored.passed_over:
            continue
        try:
            response = decode(Response, stored.value or b"")  # one may be deleted
        except Undecodable as error:
            yield Folded(stored, f"{stored}".encode(), None, f"{stored}: {error}")
            continue
        if (source := response.source).offset >= (end := at(decided, source)):
            yield Folded(stored, f"{stored}".encode(), None, f"{stored} {_ahead(source, end)}")
        identity = response.aggregate_type, response.aggregate_id
        if is_remembered(response) and stored.timestamp >= since:
            key = outcome_key(*identity, response.command_id)
            yield Folded(stored, key, outcome_entry(stored.value, limits))
        if response.to_version is not None:
            said = Stand(response.to_version, response.last_hash)
            is_lost = stored.behind_hole or response.to_version == lost.get(identity)
            instead = _as_deleted(application, response) if is_lost else None
            yield Folded(stored, snapshot_key(*identity), None, stand=said, instead=instead)


def on_record(application: Application, made: Decision) -> Folded:
    """Return what stands for an aggregate that is lost since a recovery of before."""
    of, place = made.lost, made.source
    assert of is not None
    name = of.aggregate_id.encode()
    stored = Stored(of.aggregate_type, place.topic, place.partition, place.offset, name, b"")
    instead = deleted(catalog_of(application)[of.aggregate_type], of.version, b"", made.decided_at)
    key = snapshot_key(of.aggregate_type, of.aggregate_id)
    return Folded(stored, key, None, instead=instead, lost=of.version)


def _as_deleted(application: Application, response: Response) -> bytes | None:
    """Return the snapshot of an aggregate whose last event nobody has, so no version comes twice.

    What the rules made of it nobody can tell.
    """
    if not (version := response.to_version):
        return None
    last_hash, decided_at = response.last_hash or b"", response.decided_at
    context = catalog_of(application)[response.aggregate_type]
    return deleted(context, version, last_hash, decided_at)


def _ahead(source: Source, end: int) -> str:
    return (
        f"answers {source}, and the decider's marker says that its partition is decided up to "
        f"{end}: it is an older copy of the marker (write a tombstone behind it, then recover: "
        "answers tell how far it was), or verdict did not write this answer"
    )


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
