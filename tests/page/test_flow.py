"""A trace, and why a command ended as it did, as verbs, page and REST tell it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copyfile
from sqlite3 import connect
from typing import Any

import pytest

from commands.order import ModifyOrder
from compose.application import app
from tests.application import APPLICATION
from tests.page.filled import FLOW, LATE, PLACE, keep
from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.errors import VerdictError
from verdict.operations.inspect.aggregate import NotFoundError, history, state_at
from verdict.operations.inspect.flow import flow, lacks
from verdict.operations.inspect.why import why
from verdict.settings.load import settings_alone
from verdict.streaming.event_log.archive import HashMismatchError
from verdict.testing import InMemory


@pytest.fixture
def reader(filled: Path) -> Iterator[Reader]:
    with open_reader(settings_alone(APPLICATION, data_dir=filled), Access.READER) as opened:
        yield opened


def test_what_a_policy_asked_for_lies_below_the_event_that_it_followed(reader: Reader) -> None:
    (recorded, refused), more = flow(APPLICATION, reader, FLOW)
    [event] = recorded["events"]
    [asked] = event["asked"]

    assert recorded["doubt"] is None
    assert not lacks([recorded, refused])

    assert (recorded["policy"], recorded["response"]["command_type"]) == (None, "RecordInvoice")
    assert (asked["policy"], asked["response"]["aggregate_id"]) == ("award_points", "card-1")
    assert [one["event_type"] for one in asked["events"]] == ["PointsAwarded"]
    assert refused["response"]["reason"] == "ALREADY_EXISTS"
    assert not more
    assert flow(APPLICATION, reader, FLOW, 1)[1]


def test_a_flow_that_nobody_knows_is_empty(reader: Reader) -> None:
    assert flow(APPLICATION, reader, "nobody") == ([], False)
    assert why(APPLICATION, reader, "nobody") == []


def test_who_lost_is_told_what_it_met_who_won_and_what_to_send(reader: Reader) -> None:
    [found] = why(APPLICATION, reader, LATE)

    assert found["met_version"] == 2
    assert [(one["version"], one["command_id"]) for one in found["winners"]] == [(2, "first")]
    assert found["instead"].startswith("expected_version 2,")


def test_a_command_of_a_policy_names_the_event_that_caused_it(reader: Reader) -> None:
    (recorded, _), _ = flow(APPLICATION, reader, FLOW)
    [event] = recorded["events"]
    [asked] = event["asked"]

    [found] = why(APPLICATION, reader, asked["command_id"])

    assert (found["cause"]["event_type"], found["cause"]["aggregate_id"]) == (
        "InvoiceRecorded",
        "inv-1",
    )
    assert found["cause"]["event_id"] == event["event_id"]
    assert [one["cause"] for one in why(APPLICATION, reader, "first")] == [None]


def test_who_was_accepted_is_told_what_it_caused(reader: Reader) -> None:
    [found] = why(APPLICATION, reader, "first")

    assert (found["met_version"], found["winners"], found["instead"]) == (1, [], None)
    assert [one["event_type"] for one in found["events"]] == ["OrderFilled"]


@pytest.mark.parametrize(
    ("command_id", "winners", "instead"),
    [
        ("twice", [1], "expected_version 1"),
        ("again", [1, 2], "expected_version 2"),
        ("nothing", [], "expected_version 0"),
    ],
)
def test_who_expected_something_else_is_told_so(
    reader: Reader, command_id: str, winners: list[int], instead: str
) -> None:
    [found] = why(APPLICATION, reader, command_id)

    assert [one["version"] for one in found["winners"]] == winners
    assert found["instead"].startswith(instead)


@pytest.mark.proves("G-07")
def test_an_altered_event_is_never_believed_and_who_may_not_see_it_is_told_so(
    tmp_path: Path, reader: Reader, filled: Path
) -> None:
    assert not flow(APPLICATION, reader, FLOW)[0][0]["events"][0]["checked"]
    copyfile(filled / "verdict.db", tmp_path / "verdict.db")
    settings = settings_alone(APPLICATION, data_dir=tmp_path)
    with open_reader(settings, Access.AUDITOR) as auditor:
        assert flow(APPLICATION, auditor, FLOW)[0][0]["events"][0]["checked"]
    with closing(connect(tmp_path / "verdict.db")) as database, database:
        database.execute("UPDATE event_archive_v1 SET value = x'00'")

    with open_reader(settings, Access.AUDITOR) as auditor:
        for ask in (
            lambda: flow(APPLICATION, auditor, FLOW),
            lambda: why(APPLICATION, auditor, "first"),
        ):
            with pytest.raises(HashMismatchError, match=r"event_archive, .* was altered"):
                ask()


@pytest.mark.proves("G-07")
def test_an_event_is_told_from_its_bytes_whatever_stands_beside_them(
    tmp_path: Path, filled: Path
) -> None:
    copyfile(filled / "verdict.db", tmp_path / "verdict.db")
    settings = settings_alone(APPLICATION, data_dir=tmp_path)

    def told() -> list[Any]:
        with open_reader(settings, Access.AUDITOR) as auditor:
            return [
                flow(APPLICATION, auditor, FLOW),
                why(APPLICATION, auditor, "first"),
                history(APPLICATION, auditor, "order", "o-1"),
            ]

    true = told()
    with closing(connect(tmp_path / "verdict.db")) as database, database:
        database.execute(
            "UPDATE event_archive_v1 SET payload = json_set(payload, '$.quantity', 7), "
            "event_type = 'Forged', event_id = 'f', decided_at = 1, "
            "metadata = json_set(metadata, '$.actor', 'nobody')"
        )

    assert told() == true


@pytest.mark.proves("G-07")
@pytest.mark.parametrize(
    ("forged", "said"),
    [
        ("UPDATE outcome_v1 SET to_version = 4", "its events of the versions 3-4 are not archived"),
        (
            "UPDATE outcome_v1 SET status = 'REJECTED', reason = 'VERSION_CONFLICT', "
            "actual_version = 2, expected_version = 1, from_version = NULL, to_version = NULL",
            "it caused the versions 2 all the same",
        ),
        ("DELETE FROM event_archive_v1", "its events of the versions 2 are not archived"),
    ],
)
def test_an_answer_that_does_not_agree_with_the_events_is_told_so(
    tmp_path: Path, filled: Path, forged: str, said: str
) -> None:
    copyfile(filled / "verdict.db", tmp_path / "verdict.db")
    with closing(connect(tmp_path / "verdict.db")) as database, database:
        database.execute(f"{forged} WHERE {_OF_FIRST[forged.split()[0]]}")

    with open_reader(settings_alone(APPLICATION, data_dir=tmp_path), Access.READER) as reader:
        [told] = why(APPLICATION, reader, "first")
        nodes, _ = flow(APPLICATION, reader, told["response"]["correlation_id"])

    [node] = [node for node in nodes if node["command_id"] == "first"]
    assert told["doubt"].startswith(said)
    assert node["doubt"].startswith(said)
    assert lacks(nodes)


_OF_FIRST = {
    "UPDATE": "command_id = 'first'",
    "DELETE": "aggregate_id = 'o-1' AND version = 2",
}


def test_the_state_at_any_version_has_its_position(filled: Path) -> None:
    settings = settings_alone(APPLICATION, data_dir=filled)
    first, last, none = (
        state_at(settings, Access.READER, "order", "gone", version) for version in (1, 2, 0)
    )

    assert (first["life_cycle"], first["state"]["quantity"]) == ("ACTIVE", 10)
    assert first["position"]["topic"] == "order.events"
    assert (last["life_cycle"], last["state"]) == ("DELETED", None)
    assert (none["version"], none["state"], none["position"]) == (0, None, None)
    with pytest.raises(NotFoundError, match="archived up to version 2, not 3"):
        state_at(settings, Access.READER, "order", "gone", 3)
    with pytest.raises(NotFoundError, match="no order 'nobody'"):
        state_at(settings, Access.READER, "order", "nobody")


@pytest.mark.proves("G-07")
def test_of_a_damaged_history_no_state_is_told_but_of_versions_before_the_damage(
    tmp_path: Path,
) -> None:
    with InMemory(app) as memory:
        memory.send("gap", PLACE, 0)
        memory.send("gap", ModifyOrder(quantity=20), 1)
        memory.send("gap", ModifyOrder(quantity=30), 2)
        keep(memory, f"sqlite:///{tmp_path / 'verdict.db'}")
    settings = settings_alone(APPLICATION, data_dir=tmp_path, bootstrap_servers="nowhere:1")
    with closing(connect(tmp_path / "verdict.db")) as database, database:
        where = "aggregate_type = 'order' AND aggregate_id = 'gap' AND version = 2"
        database.execute(f"DELETE FROM event_archive_v1 WHERE {where}")

    with pytest.raises(VerdictError, match="version 3 follows version 1; no state can be told"):
        state_at(settings, Access.READER, "order", "gap")
    assert state_at(settings, Access.READER, "order", "gap", version=1)["version"] == 1
