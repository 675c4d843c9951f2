"""Who sees what of the read side: readers, auditors and operators."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import insert

from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import NOW, ReadSide
from tests.kit.log import EventLog, opened
from tests.postgresql import Server
from tests.projections.test_invoice_line import INVOICE
from verdict.adapters.sql.readers.reader import Access, NotAllowedError, open_reader
from verdict.read_side.tables import dead_letters
from verdict.read_side.tables.interventions import table as interventions
from verdict.settings.load import load_settings
from verdict.wire.json import readable

PERSONAL = ["OAS3", "4624", "3 Elm Rd", "411001", "0800"]
ASKED = "SELECT event_type, payload, value, hash FROM event_archive ORDER BY aggregate_type"
CLOSED = {
    "reader": ["dead_letter", "dead_letter_intervention", "projection_intervention"],
    "auditor": ["dead_letter", "dead_letter_intervention"],
    "support": [],
}
Row = tuple[Any, ...]


@pytest.fixture
def side(new_database: NewDatabase) -> Iterator[ReadSide]:
    """Return a read side with an invoice, a position, a letter and a decision."""
    side = ReadSide(new_database())
    for kind, name, event in (
        ("invoice", "i-1", INVOICE), ("position", "p-1", opened("ada")),
    ):  # fmt: skip
        log = EventLog(aggregate_type=kind)
        log.add(name, event)
        side.applier("event_archive").apply(log.everything())
    with side.engine.begin() as connection:
        connection.execute(
            insert(dead_letters.table).values(
                id="l", topic="t", partition=0, offset=0, attempt=0, attempts=0, retry_topic="r",
                status="PARKED", headers="[]", received_at=NOW, bytes=b"3 Elm Rd",
            )
        )  # fmt: skip
        connection.execute(
            insert(interventions).values(
                seq=1, projection="p", version=1, aggregate_type="invoice", aggregate_id="i-1",
                event_version=1, kind="evict", operator="ada", at=NOW, before="3 Elm Rd",
            )
        )  # fmt: skip
    yield side
    side.close()


def ask(side: ReadSide, sees: Access, statement: str) -> list[Row]:
    """Return the rows that somebody gets from `verdict sql --as`."""
    with open_reader(load_settings(APPLICATION, database_url=side.url), sees) as reader:
        return [*reader.select(statement).rows]


def payload(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = row[1] if isinstance(row[1], dict) else json.loads(row[1])
    return found


@pytest.mark.proves("S-03")
def test_readers_find_nothing_personal_in_events_and_all_the_rest(side: ReadSide) -> None:
    invoice, position = ask(side, Access.READER, ASKED)

    whole = json.loads(json.dumps(readable(INVOICE)))
    expected = whole | {"cashier_id": None, "customer_card_no": None}
    expected["delivery_address"] = whole["delivery_address"] | {
        "address_line": None, "pin_code": None, "contact_number": None,
    }  # fmt: skip
    assert payload(invoice) == expected
    assert payload(position)["client"] == "ada"
    assert not any(word in str((invoice, position)) for word in PERSONAL)
    assert (invoice[2], position[2]) == (None, None)
    assert len(invoice[3]) == 64


@pytest.mark.parametrize("sees", [Access.AUDITOR, Access.SUPPORT])
def test_auditors_and_operators_see_payloads_whole(side: ReadSide, sees: Access) -> None:
    invoice, _ = ask(side, sees, ASKED)

    assert payload(invoice) == json.loads(json.dumps(readable(INVOICE)))
    assert b"3 Elm Rd" in invoice[2]


@pytest.mark.proves("S-03")
@pytest.mark.parametrize("sees", [*Access])
def test_letters_are_for_operators_and_decisions_for_auditors(side: ReadSide, sees: Access) -> None:
    for view in CLOSED["reader"]:
        if view in CLOSED[sees]:
            with pytest.raises(NotAllowedError):
                ask(side, sees, f"SELECT * FROM {view}")
        else:
            assert len(ask(side, sees, f"SELECT * FROM {view}")) == (
                view != "dead_letter_intervention"
            )


@pytest.mark.proves("S-03")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT aggregate_id FROM event_archive WHERE value IS NOT NULL",
        "SELECT aggregate_id FROM event_archive WHERE CAST(payload AS TEXT) LIKE '%Elm%'",
        "WITH a AS MATERIALIZED (SELECT * FROM event_archive) SELECT 1 FROM a WHERE value <> ''",
    ],
)
def test_what_readers_cannot_see_they_cannot_find_out_by_asking(
    side: ReadSide, statement: str
) -> None:
    assert ask(side, Access.READER, statement) == []


@pytest.mark.proves("S-03")
def test_a_login_of_postgresql_sees_what_its_role_does_in_any_tool(postgresql: Server) -> None:
    with postgresql.database() as url:
        side = ReadSide(url)
        log = EventLog(aggregate_type="invoice")
        log.add("i-1", INVOICE)
        side.applier("event_archive").apply(log.everything())
        side.close()
        name = url.rpartition("/")[2].partition("?")[0]
        for role, closed in CLOSED.items():
            postgresql.execute(f"CREATE USER eve IN ROLE verdict_{role}")
            with psycopg.connect(postgresql.url(name, "eve"), autocommit=True) as eve:
                shown = eve.execute(ASKED.encode()).fetchall()
                assert ("3 Elm Rd" in str(shown)) == (role != "reader")
                for view in closed:
                    with pytest.raises(InsufficientPrivilege):
                        eve.execute(f"SELECT * FROM {view}".encode())
                for table in ("event_archive_v1", "dead_letter_v1"):
                    with pytest.raises(InsufficientPrivilege):
                        eve.execute(f"SELECT * FROM projections.{table}".encode())
            postgresql.execute("DROP USER eve")
