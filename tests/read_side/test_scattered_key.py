import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.databases import ReadSide
from tests.read_side.responses import ACCEPTED, MALFORMED, batch_of
from tests.tiers import examples
from verdict.model.source import Source
from verdict.operations.status.read_side_status import SCATTERED as COMPLAINT
from verdict.read_side.tables import skips
from verdict.wire.response import Response
from verdict.wire.skip_record import Kind, SkipRecord

SCATTERED = "SELECT aggregate_type, aggregate_id, partitions FROM misrouted_key ORDER BY 1, 2"


def of(aggregate_id: str, partition: int, offset: int = 0, kind: str = "order") -> Response:
    """Return the answer to a command that lay on `partition`."""
    place = Source(f"{kind}.commands", partition, offset)
    return ACCEPTED.model_copy(
        update={"aggregate_type": kind, "aggregate_id": aggregate_id, "source": place}
    )


@pytest.mark.both_databases
def test_after_an_operator_accepted_more_partitions_moved_keys_are_no_problem(
    read_side: ReadSide,
) -> None:
    moved = [of("a", 1), of("a", 4), of("p", 1, kind="position"), of("p", 2, kind="position")]
    read_side.applier("outcome").apply(batch_of(moved))
    assert read_side.select(COMPLAINT) == [(2, "order", "a", 2)]

    place = Source("order.commands", 4, 0)
    word = SkipRecord(
        source=place,
        until_offset=0,
        operator="ada",
        reason="more load",
        decided_at=5,
        kind=Kind.ACCEPTED,
    )
    with read_side.engine.begin() as connection:
        skips.copy(connection, [word])

    assert read_side.select(COMPLAINT) == [(1, "position", "p", 2)]


def test_a_command_with_an_id_and_another_key_scatters_nothing(read_side: ReadSide) -> None:
    elsewhere = MALFORMED.model_copy(update={"source": Source("order.commands", 3, 0)})

    read_side.applier("outcome").apply(batch_of([of("order-1", 1), elsewhere]))

    assert read_side.select(SCATTERED) == []


places = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=30)


@pytest.mark.proves("C-07")
@pytest.mark.both_databases
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places)
def test_each_aggregate_is_shown_with_all_of_its_partitions(
    read_side: ReadSide, seen: list[tuple[str, int]]
) -> None:
    read_side.clear()
    batch = batch_of([of(*place, offset) for offset, place in enumerate(seen)])
    read_side.applier("outcome").apply(batch)
    partitions = {name: {p for other, p in seen if other == name} for name, _ in seen}

    expected = [
        ("order", name, len(found)) for name, found in sorted(partitions.items()) if len(found) > 1
    ]
    assert read_side.select(SCATTERED) == expected
