"""`verdict history` and `verdict verify` of what Kafka has dropped."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.audit.books import PLACE, Books
from tests.cli.conftest import Run, Verdict
from verdict.adapters.local.broker import EmbeddedBroker

FILL = {"type": "FillOrder", "quantity": 1, "price_cents": 99}


@pytest.fixture(scope="module")
def books(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    """Return archived orders whose first events and outcomes Kafka has dropped; one is altered."""
    books = Books(broker, "history", tmp_path_factory.mktemp("history") / "data")
    for name in ("kept", "torn"):
        books.ask("order", name, PLACE, FILL, FILL | {"quantity": 99})
    books.settle()
    for topic in (books.topics.events("order"), books.topics.responses("order")):
        for number, (_, end) in enumerate(books.bounds(topic)):
            books.drop(topic, number, end)
    for name in ("kept", "torn", "new"):
        books.ask("order", name, PLACE, FILL)
    books.settle()
    with books.read_side.engine.begin() as connection:
        changed = connection.execute(
            text(
                "UPDATE event_archive_v1 SET value = CAST(value || 'x' AS BLOB) "
                "WHERE aggregate_id = 'torn' AND version = 2"
            )
        )
        assert changed.rowcount == 1
    yield books
    books.close()


def told(verdict: Verdict) -> list[tuple[str | None, list[int]]]:
    return [
        (
            one["response"] and (one["response"]["reason"] or one["response"]["status"]),
            [event["version"] for event in one["events"]],
        )
        for one in verdict.lines
    ]


@pytest.mark.proves("G-07")
def test_what_kafka_has_dropped_is_shown_from_archive_and_view(history: Run, books: Books) -> None:
    found = history("kept", "--json")

    assert found.exit_code == 0, found.stderr
    assert told(found) == [
        ("ACCEPTED", [1]),
        ("ACCEPTED", [2]),
        ("BUSINESS_RULE", []),
        ("ALREADY_EXISTS", []),
        ("ACCEPTED", [3]),
    ]
    assert [one["response"]["command_type"] for one in found.lines] == [
        "PlaceOrder", "FillOrder", "FillOrder", "PlaceOrder", "FillOrder",
    ]  # fmt: skip
    ends = books.bounds(books.topics.events("order"))
    for number, (_, end) in enumerate(ends):
        assert f"history.order.events:{number} up to offset {end}" in found.stderr
    shown = " ".join(history("kept").stdout.split())
    assert "BUSINESS_RULE: cannot fill 99: 9 of 10 are open" in shown


def test_verify_tells_people_and_cron_what_is_right_and_what_is_not(
    run: Run, history: Run, books: Books
) -> None:
    right = run("verify", "order", "new", "--json")
    wrong = run("verify", "order", "torn", "--json")
    for_people = run("verify", "order", "torn")

    [told] = right.lines
    unknown = told["unavailable"]  # in a projection, what was altered
    assert (right.exit_code, told["clean"], told["findings"]) == (bool(unknown), not unknown, 0)
    assert told["looked_at"]["commands"] == 2
    assert not any(one.startswith("outcome:") for one in unknown)
    dropped = "outcome: of history.order.responses:"  # by Kafka, when it had been read
    assert any(one.startswith(dropped) for one in told["not_checked"])
    said = " ".join(right.stderr.split())
    told_of = f"as it was written, and {len(unknown)} things could not be checked"
    assert (told_of if unknown else "all that was checked is as it was written") in said
    *found, summary = wrong.lines
    place = f"history.order.events:{books.partition('torn')}:"
    assert wrong.exit_code == for_people.exit_code == 1
    assert {(one["check"], one["version"]) for one in found} == {("archive", 2), ("chain", 2)}
    assert all(one["place"].startswith(place) for one in found)
    assert (summary["clean"], summary["findings"]) == (False, len(found))
    assert "archive: order 'torn' version 2 at history.order.events" in for_people.stdout
    query = "select aggregate_id, clean, findings, first_findings from verification order by seq"
    kept = run("sql", query, "--json", "--as", "auditor").lines
    assert [(one["aggregate_id"], one["clean"]) for one in kept] == [
        ("new", int(told["clean"])), ("torn", 0), ("torn", 0),
    ]  # fmt: skip
    assert json.loads(kept[1]["first_findings"]) == found
    assert f"order torn: {len(found)} findings" in run("status").stdout


def test_an_id_that_never_existed_ends_with_1(run: Run, history: Run) -> None:
    verified = run("verify", "order", "never")

    assert verified.exit_code == 1
    assert "there is no order 'never': no record names it" in verified.stderr
