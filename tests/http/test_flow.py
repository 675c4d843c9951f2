"""A flow, and why a command ended as it did: events that were altered or do not fit are named."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.application import APPLICATION
from tests.http.filled import FLOW, LATE, altered
from verdict.adapters.sql.readers.reader import Access, Reader, open_reader
from verdict.operations.inspect.aggregate import history
from verdict.operations.inspect.flow import flow, lacks, why
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import HashMismatchError

OF_FIRST = {
    "UPDATE": "command_id = 'first'",
    "DELETE": "aggregate_id = 'o-1' AND version = 2",
}


@pytest.fixture
def reader(filled: Path) -> Iterator[Reader]:
    with open_reader(settings_alone(APPLICATION, data_dir=filled), Access.READER) as opened:
        yield opened


@pytest.fixture
def changed(filled: Path, tmp_path: Path) -> Callable[..., Settings]:
    """Return the settings of a copy of the filled read side after some statements."""
    return lambda *statements: settings_alone(
        APPLICATION, data_dir=altered(tmp_path, *statements, of=filled)
    )


def test_a_command_of_a_policy_is_below_its_event_and_names_it(reader: Reader) -> None:
    (recorded, refused), more = flow(APPLICATION, reader, FLOW)
    [event] = recorded["events"]
    [sent] = event["asked"]
    [found] = why(APPLICATION, reader, sent["command_id"])

    assert (recorded["policy"], recorded["doubt"], more) == (None, None, False)
    assert not lacks([recorded, refused])
    assert (sent["policy"], sent["response"]["aggregate_id"]) == ("award_points", "card-1")
    assert [one["event_type"] for one in sent["events"]] == ["PointsAwarded"]
    assert refused["response"]["reason"] == "ALREADY_EXISTS"
    assert flow(APPLICATION, reader, FLOW, 1)[1]
    assert (found["cause"]["event_type"], found["cause"]["event_id"]) == (
        "InvoiceRecorded", event["event_id"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command_id", "met", "winners", "instead"),
    [
        (LATE, 2, [2], "expected_version 2,"),
        ("twice", 1, [1], "expected_version 1"),
        ("again", 2, [1, 2], "expected_version 2"),
        ("nothing", 0, [], "expected_version 0"),
        ("first", 1, [], None),
    ],
)
def test_why_has_the_version_that_a_command_met_who_won_and_what_to_send(
    reader: Reader, command_id: str, met: int, winners: list[int], instead: str | None
) -> None:
    [found] = why(APPLICATION, reader, command_id)

    assert (found["met_version"], [one["version"] for one in found["winners"]]) == (met, winners)
    assert (found["instead"] or "").startswith(instead or "")
    assert (found["instead"] is None) is (instead is None)
    assert bool(found["events"]) is (command_id == "first")
    assert found["cause"] is None


@pytest.mark.proves("G-07")
def test_an_altered_event_is_an_error_for_readers_that_may_see_its_bytes(
    reader: Reader, changed: Callable[..., Settings]
) -> None:
    assert not flow(APPLICATION, reader, FLOW)[0][0]["events"][0]["checked"]
    with open_reader(changed(), Access.AUDITOR) as auditor:
        assert flow(APPLICATION, auditor, FLOW)[0][0]["events"][0]["checked"]

    settings = changed("UPDATE event_archive_v1 SET value = x'00'")
    for ask, id in ((flow, FLOW), (why, "first")):
        with (
            open_reader(settings, Access.AUDITOR) as auditor,
            pytest.raises(HashMismatchError, match=r"event_archive, .* was altered"),
        ):
            ask(APPLICATION, auditor, id)


@pytest.mark.proves("G-07")
def test_an_event_is_read_from_its_bytes_whatever_its_columns_say(
    changed: Callable[..., Settings],
) -> None:
    def read(*statements: str) -> list[Any]:
        with open_reader(changed(*statements), Access.AUDITOR) as auditor:
            return [
                flow(APPLICATION, auditor, FLOW),
                why(APPLICATION, auditor, "first"),
                history(APPLICATION, auditor, "order", "o-1"),
            ]

    forged = (
        "UPDATE event_archive_v1 SET payload = json_set(payload, '$.quantity', 7), "
        "event_type = 'Forged', event_id = 'f', decided_at = 1, "
        "metadata = json_set(metadata, '$.actor', 'nobody')"
    )
    assert read(forged) == read()


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
def test_an_outcome_that_does_not_agree_with_the_events_is_named(
    changed: Callable[..., Settings], forged: str, said: str
) -> None:
    settings = changed(f"{forged} WHERE {OF_FIRST[forged.split()[0]]}")

    with open_reader(settings, Access.READER) as reader:
        [found] = why(APPLICATION, reader, "first")
        nodes, _ = flow(APPLICATION, reader, found["response"]["correlation_id"])
    [node] = [node for node in nodes if node["command_id"] == "first"]
    assert found["doubt"].startswith(said)
    assert node["doubt"].startswith(said)
    assert lacks(nodes)
