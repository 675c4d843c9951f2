"""What auditors and those who look for orders ask: whatever the size of a table, it is not read."""

import re

import pytest

from tests.kit.databases import ReadSide
from verdict.settings.database_address import is_sqlite

A_TIME = "2026-11-21T12:00:00.000Z"
ASKED = (
    "SELECT * FROM event_archive WHERE correlation_id = 'flow-1'",
    f"SELECT * FROM event_archive WHERE decided_at >= '{A_TIME}'",
    "SELECT * FROM event_archive WHERE aggregate_type = 'order' AND aggregate_id = 'o'",
    f"SELECT * FROM outcome WHERE decided_at >= '{A_TIME}' AND decided_at < '{A_TIME}'",
    "SELECT * FROM outcome WHERE correlation_id = 'flow-1'",
    "SELECT * FROM outcome WHERE command_id = 'c-1'",
    "SELECT * FROM outcome WHERE aggregate_type = 'order' AND aggregate_id = 'o'",
    "SELECT * FROM order_state WHERE id = 'o'",
    "SELECT * FROM client_recent_order WHERE client = 'ada' ORDER BY rank",
    "SELECT * FROM client_recent_order WHERE order_id = 'o'",
    "SELECT * FROM client_recent_order WHERE status = 'OPEN'",
)


def plan(read_side: ReadSide, statement: str) -> list[str]:
    """Return the steps by which the database would answer a question, in its own words."""
    with read_side.engine.connect() as connection:
        if is_sqlite(read_side.engine.url):
            found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
            return [row[3] for row in found]
        # the table is empty, which no index would be worth; whether there is one is the question
        connection.exec_driver_sql("SET LOCAL enable_seqscan TO off")
        return [row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}")]


def reads_all(steps: list[str]) -> bool:
    """Tell whether a plan reads a table from one end to the other, be it by an index."""
    scan = re.compile(r"Seq Scan|SCAN (\w+_v\d|other)")
    by_order = any("Index" in step for step in steps) and not any("Index Cond" in s for s in steps)
    return any(map(scan.search, steps)) or (by_order and not any("SEARCH" in s for s in steps))


@pytest.mark.both_databases
def test_an_index_leads_to_the_rows(read_side: ReadSide) -> None:
    plans = {statement: plan(read_side, statement) for statement in ASKED}

    assert {asked: steps for asked, steps in plans.items() if reads_all(steps)} == {}


def test_a_question_without_an_index_is_noticed(read_side: ReadSide) -> None:
    assert reads_all(plan(read_side, "SELECT * FROM event_archive WHERE hash = 'h'"))
