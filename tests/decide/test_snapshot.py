from dataclasses import replace
from struct import error
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregates.order import Order
from aggregates.position import Position
from commands.order import DeleteOrder
from tests.application import CATALOG, decode_snapshot, encode_snapshot
from tests.decide.desk import PLACE, after
from tests.wire.arbitrary import HASHES, INSTANTS, POSITIVE, TEXTS
from verdict.model.command import LifeCycle
from verdict.model.message import Message, Text
from verdict.write_side.decide import snapshot
from verdict.write_side.decide.snapshot import NEVER_EXISTED, OutdatedSnapshotError, Snapshot

ORDERS = st.builds(
    Order,
    quantity=POSITIVE,
    limit_price_cents=POSITIVE,
    filled=st.integers(0, 2**63 - 1),
    status=st.sampled_from(["open", "completed", "cancelled"]),
)
ORDER = CATALOG["order"].aggregate
POSITIONS = st.builds(Position, client=TEXTS, exchange=TEXTS, amount=POSITIVE)


def snapshots(
    states: st.SearchStrategy[Order] | st.SearchStrategy[Position],
) -> st.SearchStrategy[Snapshot[Any]]:
    """Return any snapshot of an aggregate that has events, deleted or with one of `states`."""
    return st.builds(
        Snapshot,
        version=st.integers(1, 2**63 - 1),
        state=st.none() | states,
        last_hash=HASHES,
        decided_at=INSTANTS,
        quarantined=st.just(False),
    )


@given(snapshots(ORDERS), snapshots(POSITIONS))
def test_a_snapshot_survives_its_bytes(one: Snapshot[Any], other: Snapshot[Any]) -> None:
    assert decode_snapshot("order", encode_snapshot("order", one)) == one
    assert decode_snapshot("position", encode_snapshot("position", other)) == other


@pytest.mark.proves("C-13")
def test_nothing_but_the_version_hash_and_time_is_left_of_a_deleted_aggregate() -> None:
    deleted = after(PLACE, DeleteOrder())

    assert deleted.life_cycle is LifeCycle.DELETED
    assert deleted.state is None
    assert len(encode_snapshot("order", deleted)) == 1 + 8 + 8 + 1 + 1 + 32


def test_of_a_quarantined_aggregate_the_first_damaged_version_is_kept() -> None:
    quarantined = Snapshot[Any](7, quarantined=True)

    assert decode_snapshot("order", encode_snapshot("order", quarantined)) == quarantined


def test_an_active_aggregate_is_a_few_dozen_bytes() -> None:
    assert NEVER_EXISTED.life_cycle is LifeCycle.NONE
    assert after(PLACE).life_cycle is LifeCycle.ACTIVE
    assert len(encode_snapshot("order", after(PLACE))) < 64


def test_a_snapshot_of_another_format_is_refused_and_says_what_to_do() -> None:
    kept = encode_snapshot("order", after(PLACE))
    newer = replace(CATALOG["order"], aggregate=replace(ORDER, snapshot_format=2))

    with pytest.raises(
        OutdatedSnapshotError, match=r"has format 1, the rules have 2.*verdict recover"
    ):
        snapshot.decode_snapshot(newer, kept)


class Parcel(Message):
    address: Text


def test_a_snapshot_that_is_cut_anywhere_is_never_read() -> None:
    state = Parcel(address="Baker Street 221B")
    context = replace(CATALOG["order"], aggregate=replace(ORDER, state=Parcel))
    kept = snapshot.encode_snapshot(context, Snapshot(version=1, state=state))

    for length in range(len(kept)):
        with pytest.raises((ValueError, LookupError, EOFError, error)):
            snapshot.decode_snapshot(context, kept[:length])
    with pytest.raises(ValueError, match="1 bytes are left over"):
        snapshot.decode_snapshot(context, kept + b"\0")
