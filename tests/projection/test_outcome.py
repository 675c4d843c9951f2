from dataclasses import replace
from random import Random

import pytest

from tests.projection.beside import compared
from tests.projection.event_log import EventLog, opened
from tests.projection.read_side import ReadSide
from tests.projection.responses import ACCEPTED, MALFORMED, REJECTED, TOPIC, batch_of
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.wire.response import Response


@pytest.mark.parametrize(
    ("response", "row"),
    [
        (
            ACCEPTED,
            {
                "command_id": "c-1",
                "aggregate_type": "order",
                "aggregate_id": "order-1",
                "command_type": "PlaceOrder",
                "status": "ACCEPTED",
                "reason": None,
                "rule_code": None,
                "message": None,
                "actor": "ada",
                "expected_version": "0",
                "actual_version": None,
                "from_version": 0,
                "to_version": 1,
                "duplicate": 0,
                "correlation_id": "flow-1",
                "topic": "order.commands",
                "partition": 2,
                "offset": 40,
                "decided_at": "2026-11-21T12:00:00.000Z",
            },
        ),
        (
            REJECTED,
            {
                "command_id": "c-2",
                "aggregate_type": "order",
                "aggregate_id": "order-1",
                "command_type": "ModifyOrder",
                "status": "REJECTED",
                "reason": "DELETED",
                "rule_code": None,
                "message": "order-1 is deleted",
                "actor": "ada",
                "expected_version": "EXISTS",
                "actual_version": 1,
                "from_version": 1,
                "to_version": 1,
                "duplicate": 1,
                "correlation_id": "flow-1",
                "topic": "order.commands",
                "partition": 2,
                "offset": 41,
                "decided_at": "2026-11-21T12:00:00.001Z",
            },
        ),
        (
            MALFORMED,
            {
                "command_id": "c-3",
                "aggregate_type": "order",
                "aggregate_id": "order-1",
                "command_type": None,
                "status": "REJECTED",
                "reason": "UNKNOWN_TYPE",
                "rule_code": None,
                "message": "order has no command 'Explode'",
                "actor": None,
                "expected_version": None,
                "actual_version": None,
                "from_version": None,
                "to_version": None,
                "duplicate": 0,
                "correlation_id": "c-3",
                "topic": "order.commands",
                "partition": 2,
                "offset": 42,
                "decided_at": "2026-11-21T12:00:00.002Z",
            },
        ),
    ],
)
def test_every_response_is_a_row(
    read_side: ReadSide, response: Response, row: dict[str, object]
) -> None:
    read_side.applier("outcome").apply(batch_of([response]))

    with read_side.reader() as reader:
        found = reader.select("SELECT * FROM outcome")
        assert [dict(zip(found.columns, values, strict=True)) for values in found.rows] == [row]
        assert list(found.columns) == list(row)


def test_a_response_that_was_written_twice_is_one_row(read_side: ReadSide) -> None:
    applied = read_side.applier("outcome").apply(batch_of([ACCEPTED, REJECTED, ACCEPTED]))

    assert (applied.applied, applied.skipped) == (2, 1)
    assert read_side.select('SELECT command_id FROM outcome ORDER BY "offset"') == [
        ("c-1",),
        ("c-2",),
    ]


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


def test_a_command_that_was_sent_twice_is_two_rows(read_side: ReadSide) -> None:
    source = replace(ACCEPTED.source, offset=99)
    read_side.applier("outcome").apply(
        batch_of([ACCEPTED, ACCEPTED.model_copy(update={"duplicate": True, "source": source})])
    )

    assert read_side.select('SELECT "offset", duplicate FROM outcome ORDER BY "offset"') == [
        (40, 0),
        (99, 1),
    ]


def test_a_message_with_a_nul_can_be_stored_by_every_database(read_side: ReadSide) -> None:
    read_side.applier("outcome").apply(batch_of([REJECTED.model_copy(update={"message": "a\0b"})]))

    assert read_side.select("SELECT message FROM outcome") == [("a\\0b",)]


@pytest.mark.parametrize("first", [0, 3], ids=["the least partition first", "the greatest first"])
def test_outcomes_that_are_built_in_one_go_are_the_same(read_side: ReadSide, first: int) -> None:
    """Also where commands of one aggregate lie on several partitions."""
    places = [(first, "a"), (1, "a"), (3 - first, "a"), (2, "b"), (2, "b")]
    found = [
        ACCEPTED.model_copy(
            update={"aggregate_id": name, "source": Source("order.commands", partition, offset)}
        )
        for offset, (partition, name) in enumerate(places)
    ]
    found.append(
        MALFORMED.model_copy(update={"aggregate_id": "b", "source": Source("order.commands", 0, 9)})
    )
    applier = read_side.applier("outcome")
    for offset, response in enumerate(found):
        applier.apply(batch_of([response], start=offset))

    deliveries = batch_of(found).deliveries([TOPIC])
    assert all(one.equal for one in compared(read_side, "outcome", deliveries))


def test_the_longest_names_fit_the_indexes_of_every_database(
    read_side: ReadSide, log: EventLog
) -> None:
    """Four bytes a character, and nothing that could be compressed."""

    def longest(characters: int) -> str:
        return "".join(map(chr, Random(1).sample(range(0x20000, 0x2A000), characters)))

    name = longest(256)
    read_side.applier("outcome").apply(
        batch_of(
            [
                ACCEPTED.model_copy(
                    update={
                        "aggregate_id": name,
                        "correlation_id": name,
                        "command_id": longest(128),
                    }
                ),
            ]
        )
    )
    log.add(name, opened(name))
    read_side.applier("us_holder").apply(log.batch())

    assert read_side.holders() == {name: 1}
    assert read_side.select("SELECT correlation_id FROM outcome") == [(name,)]
