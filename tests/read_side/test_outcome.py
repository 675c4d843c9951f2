from dataclasses import replace

import pytest

from tests.kit.databases import ReadSide
from tests.read_side.responses import ACCEPTED, MALFORMED, REJECTED, batch_of
from verdict.model.reason import Reason
from verdict.wire.response import Response

COLUMNS = (
    "command_id aggregate_type aggregate_id command_type status reason rule_code message actor "
    "expected_version actual_version from_version to_version duplicate correlation_id topic "
    "partition offset decided_at"
)
ORDER = ("order", "order-1")
NOON = "2026-11-21T12:00:00"


@pytest.mark.parametrize(
    ("response", "row"),
    [
        (
            ACCEPTED,
            ("c-1", *ORDER, "PlaceOrder", "ACCEPTED", None, None, None, "ada", "0", None, 0, 1, 0,
             "flow-1", "order.commands", 2, 40, f"{NOON}.000Z"),
        ),
        (
            REJECTED,
            ("c-2", *ORDER, "ModifyOrder", "REJECTED", "DELETED", None, "order-1 is deleted", "ada",
             "EXISTS", 1, 1, 1, 1, "flow-1", "order.commands", 2, 41, f"{NOON}.001Z"),
        ),
        (
            MALFORMED,
            ("c-3", *ORDER, None, "REJECTED", "UNKNOWN_TYPE", None,
             "order has no command 'Explode'", *[None] * 5, 0, "c-3", "order.commands", 2, 42,
             f"{NOON}.002Z"),
        ),
    ],
)  # fmt: skip
def test_every_response_is_a_row(
    read_side: ReadSide, response: Response, row: tuple[object, ...]
) -> None:
    read_side.applier("outcome").apply(batch_of([response]))

    with read_side.reader() as reader:
        found = reader.select("SELECT * FROM outcome")
        assert [tuple(values) for values in found.rows] == [row]
        assert list(found.columns) == COLUMNS.split()


@pytest.mark.both_databases
def test_how_often_a_rule_refused_whom_is_one_query(read_side: ReadSide) -> None:
    """A code among the details of another reason is no rule's."""
    by_a_rule = {"reason": Reason.BUSINESS_RULE, "details": {"code": "OVERFILL", "open": 6}}
    places = (replace(REJECTED.source, offset=offset) for offset in range(3))
    overfilled = [
        REJECTED.model_copy(update={**by_a_rule, "actor": actor, "source": place})
        for actor, place in zip(("ada", "bob", "ada"), places, strict=True)
    ]
    read_side.applier("outcome").apply(batch_of([ACCEPTED, REJECTED, MALFORMED, *overfilled]))

    assert read_side.select(
        "SELECT rule_code, actor, count(*) FROM outcome WHERE rule_code IS NOT NULL "
        "GROUP BY 1, 2 ORDER BY 1, 2"
    ) == [("OVERFILL", "ada", 2), ("OVERFILL", "bob", 1)]


def test_a_message_with_a_nul_can_be_stored_by_every_database(read_side: ReadSide) -> None:
    read_side.applier("outcome").apply(batch_of([REJECTED.model_copy(update={"message": "a\0b"})]))

    assert read_side.select("SELECT message FROM outcome") == [("a\\0b",)]
