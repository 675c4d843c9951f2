"""The snapshot of an aggregate, which the operator keeps."""

from hashlib import sha256
from struct import Struct
from typing import Any, Generic, NamedTuple

from verdict.model.aggregate import State
from verdict.model.command import LifeCycle
from verdict.wire.catalog import AggregateContext

HEAD = Struct(">BqqBB")  # format, version, decided_at, what it is, length of the hash
DELETED, ACTIVE, QUARANTINED = range(3)
HEAD_BYTES = HEAD.size


class OutdatedSnapshotError(ValueError):
    """A stored snapshot was written by rules with another state format."""


class Snapshot(NamedTuple, Generic[State]):
    """An aggregate as of its last event.

    `last_hash` is the SHA-256 of the last event record's value, empty before the first;
    `decided_at` is that event's time. A deleted aggregate keeps everything but its state. Of a
    `quarantined` one only the first damaged version is known.
    """

    version: int = 0
    state: State | None = None
    last_hash: bytes = b""
    decided_at: int = 0
    quarantined: bool = False

    @property
    def life_cycle(self) -> LifeCycle:
        """NONE before the first event; then ACTIVE while there is a state, else DELETED."""
        if self.version == 0:
            return LifeCycle.NONE
        return LifeCycle.DELETED if self.state is None else LifeCycle.ACTIVE


NEVER_EXISTED: Snapshot[Any] = Snapshot()


def encode_snapshot(context: AggregateContext, snapshot: Snapshot[Any]) -> bytes:
    """Return the bytes to keep; ValueError or TypeError: the state does not fit its class."""
    version, state, last_hash, decided_at, quarantined = snapshot
    kind = QUARANTINED if quarantined else DELETED if state is None else ACTIVE
    number = context.aggregate.snapshot_format
    head = HEAD.pack(number, version, decided_at, kind, len(last_hash))
    if state is None:
        return head + last_hash
    # what is stored must be readable: a copy with changed fields was not validated yet
    context.validated_state(state.__dict__)
    return head + last_hash + context.write_state(state)


def decode_snapshot(context: AggregateContext, kept: bytes) -> Snapshot[Any]:
    """Return the snapshot in `kept`, which may be damaged (ValueError, LookupError, EOFError)."""
    number, version, decided_at, kind, hash_length = HEAD.unpack_from(kept)
    if number != (wanted := context.aggregate.snapshot_format):
        raise OutdatedSnapshotError(
            f"a stored {context.name} snapshot has format {number}, the rules have {wanted}: "
            "rebuild the state with `verdict recover`"
        )
    begin = HEAD_BYTES + hash_length
    state = None
    if kind == ACTIVE:
        fields, end = context.read_state(kept, begin)
        if end != len(kept):
            raise ValueError(f"{len(kept) - end} bytes are left over behind a snapshot")
        state = context.validated_state(fields)
    return Snapshot(version, state, kept[HEAD_BYTES:begin], decided_at, kind == QUARANTINED)


def form_of(context: AggregateContext) -> str:
    """Return what tells one form of an aggregate's snapshots from others.

    That is the number that its author gives it, and what bytes depend on of the state's schema
    (https://avro.apache.org/docs/1.12.0/specification/#parsing-canonical-form-for-schemas).
    """
    from fastavro.schema import to_parsing_canonical_form  # it loads slowly

    form = to_parsing_canonical_form(context.state_schema)
    return f"{context.aggregate.snapshot_format} {sha256(form.encode()).hexdigest()}"
