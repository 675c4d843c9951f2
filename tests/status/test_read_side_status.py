"""What the views say, put together."""

from pathlib import Path
from typing import Any, cast

from verdict.adapters.sql.readers.reader import Reader
from verdict.operations.status import read_side_status
from verdict.operations.status.read_side_status import ReadSideViews
from verdict.operations.status.status import (
    DeadLettersStatus,
    PolicyRejections,
    QuarantinedAggregates,
    ScatteredKeys,
    StatusReport,
)
from verdict.wire.partitions import TopicPartition

ROWS: dict[str, list[tuple[Any, ...]]] = {
    read_side_status.POSITIONS: [
        ("a", 1, "t", 0, 5),
        ("a", 2, "t", 0, 3),
        ("dead-letters", 1, "d", 0, 1),
    ],
    read_side_status.VERSIONS: [
        ("a", 1, "live", None),
        ("a", 2, "candidate", "no disk"),
        ("b", 2, "live", None),
        ("b", 3, "incomplete", None),
    ],
    read_side_status.FOLLOWED: [("a", "t"), ("b", "t")],
    read_side_status.HELD: [("a", 1, "order", "o-1", 3, 5, "2026-11-21T09:00:00.000Z", None)],
    read_side_status.LETTERS: [("PARKED", 2)],
    read_side_status.EVENTS: [(9,)],
    read_side_status.ANSWERED: [("ACCEPTED", 4)],
    read_side_status.REFUSED: [("OVERFILL", 2)],
    read_side_status.COUNTED: [
        ("ship", "DELETED", None, 5, 0),
        ("ship", "HANDLER_ERROR", None, 9, 4),
    ],
    read_side_status.VERIFIED: [("2026-11-21T09:00:00.000Z", "order", None, 0, 3)],
    read_side_status.NEWEST: [("c-9",)],
    read_side_status.SCATTERED: [(2, "order", "o-2", 3)],
    read_side_status.QUARANTINED: [(3, "order", "o-4", 2, "a gap")],
}
ENDS = {TopicPartition("t", 0): 7, TopicPartition("t", 1): 4, TopicPartition("d", 0): 1}


class Rows:
    """Answers with the rows that are known of a query."""

    def select(self, statement: str, parameters: Any = ()) -> Any:
        return type("Selected", (), {"rows": ROWS[statement]})


TOLD = ReadSideViews(cast(Reader, Rows()), "d")


def test_every_version_has_its_role_its_errors_and_its_lag() -> None:
    live, built = (TOLD.projection("a", version, ENDS) for version in (1, 2))

    assert [*TOLD.versions] == [("a", 1), ("a", 2), ("b", 2), ("b", 3)]
    assert (live.state, live.stopped_by, [one.aggregate_id for one in live.held]) == (
        "live",
        None,
        ["o-1"],
    )
    assert (built.state, built.stopped_by, built.held) == ("candidate", "no disk", ())
    assert built.lag == 4


def test_what_the_live_one_has_not_begun_to_read_is_in_its_lag() -> None:
    assert TOLD.projection("a", 1, ENDS).lag == (7 - 5) + 4
    assert TOLD.projection("b", 2, ENDS).lag == 7 + 4
    assert TOLD.projection("b", 2, {}).lag == 0


def test_all_that_there_is_is_in_the_lag_of_one_that_is_being_built() -> None:
    building = TOLD.projection("b", 3, ENDS)

    assert (building.state, building.lag, building.positions) == ("incomplete", 7 + 4, ())


def test_everything_else_is_counted_and_the_first_or_newest_is_named() -> None:
    ends = {**ENDS, TopicPartition("d", 1): 3}  # a partition that the intake has not begun
    found = TOLD.added_to(StatusReport(None, Path("/data")), None)

    assert TOLD.letters(ENDS) == DeadLettersStatus(waiting=0, parked=2, lag=0)
    assert TOLD.letters(ends).lag == 3
    assert found.quarantines == QuarantinedAggregates(3, "order", "o-4", 2, "a gap")
    assert found.scattered == ScatteredKeys(2, "order", "o-2", 3)
    assert str(found.verified) == "2026-11-21T09:00:00.000Z, order: 3 findings"
    assert (found.events, found.answered, found.refused) == (9, {"ACCEPTED": 4}, {"OVERFILL": 2})
    assert found.policy_rejections == (
        PolicyRejections("ship", "DELETED", None, 5, 0, None),
        PolicyRejections("ship", "HANDLER_ERROR", None, 9, 4, "c-9"),
    )
