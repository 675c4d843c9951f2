import pytest
from confluent_kafka import Producer

from tests.cli.conftest import Run
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.topics import Topics

ORDER = "o-é-1"


def send(verdict: Run, command: str, expected: object, *fields: str) -> int:
    named = [word for field in fields for word in ("--field", field)]
    return verdict(
        *("send", "order", command, "--id", ORDER, "--expected-version", expected),
        *("--command-id", f"{command}-{expected}", "--wait", "30", *named),
    ).exit_code


@pytest.fixture
def story(verdict: Run) -> Run:
    """An order that was placed, filled too much, filled, and deleted; sent again for each test."""
    place = ("client=ada", "ticker=AAPL", "side=BUY", "quantity=5", "limit_price_cents=100")
    assert send(verdict, "PlaceOrder", 0, *place) == 0
    assert send(verdict, "FillOrder", "ANY", "quantity=9", "price_cents=99") == 3
    assert send(verdict, "FillOrder", 1, "quantity=5", "price_cents=99") == 0
    assert send(verdict, "DeleteOrder", 3) == 0
    return verdict


def test_tail_prints_events_as_the_contract_has_them(story: Run) -> None:
    found = story("tail", "events", "order", "--id", ORDER, "--no-follow")

    assert found.exit_code == 0
    assert [event["payload"]["type"] for event in found.lines] == [
        *("OrderPlaced", "OrderFilled", "OrderCompleted", "OrderDeleted")
    ]
    first = found.lines[0]
    assert first["topic"] == "cli.order.events"
    assert first["source"]["topic"] == "cli.order.commands"
    assert first["payload"] == {
        "type": "OrderPlaced",
        "client": "ada",
        "ticker": "AAPL",
        "side": "BUY",
        "quantity": 5,
        "limit_price_cents": 100,
    }


def test_tail_shows_a_command_and_why_one_was_rejected(story: Run) -> None:
    [first, *_] = story("tail", "commands", "order", "--id", ORDER, "--no-follow").lines
    [rejection] = story("tail", "rejected", "--id", ORDER, "--no-follow").lines

    assert (first["payload"]["type"], first["expected_version"]) == ("PlaceOrder", 0)
    assert first["issued_at"].endswith("Z")
    assert rejection["message"] == "cannot fill 9: 5 of 5 are open"
    assert rejection["details"] == {"code": "OVERFILL", "quantity": 9, "open": 5}


def test_tail_starts_at_the_given_position(story: Run) -> None:
    whole = story("tail", "responses", "order", "--id", ORDER, "--no-follow").lines
    second = whole[1]

    place = f"{second['partition']}:{second['offset']}"
    from_place = story("tail", "responses", "order", "--id", ORDER, "--no-follow", "--from", place)
    from_the_end = story("tail", "responses", "--no-follow", "--from", "end")
    long_ago = story("tail", "responses", "--id", ORDER, "--no-follow", "--from", "2020-01-01T00Z")
    in_future = story("tail", "responses", "--no-follow", "--from", "2120-01-01T00:00:00Z")

    assert from_place.lines == whole[1:]
    assert from_the_end.lines == []
    assert long_ago.lines == whole
    assert in_future.lines == []


def test_tail_shows_what_cannot_be_read_with_the_error(
    story: Run, broker: EmbeddedBroker, topics: Topics
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topics.commands("position"), b"\xffgarbage", b"garbage-key")
    producer.flush()

    [record] = story("tail", "commands", "position", "--id", "garbage-key", "--no-follow").lines

    assert "value has no Confluent header" in record["error"]
    assert record["bytes"] == "/2dhcmJhZ2U="


def test_tail_shows_what_is_published_for_others(
    verdict: Run, broker: EmbeddedBroker, topics: Topics
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in (b'{"order": "o-1"}', b"[odd"):
        producer.produce(topics.named("shipment"), value, b"told")
    producer.flush()

    first, odd = verdict("tail", "notifications", "--id", "told", "--no-follow").lines

    assert (first["topic"], first["order"]) == (topics.named("shipment"), "o-1")
    assert odd["error"].startswith("not JSON")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("events", "--from", "1:2"), "name the AGGREGATE too"),
        (("events", "order", "--from", "9:2"), "has the partitions 0 to 3, not 9"),
        (("events", "order", "--from", "0:999999"), "there is no 999999 yet"),
        (("events", "order", "--from", "yesterday"), "'yesterday' is no time with a zone"),
        (("events", "car"), "no aggregate 'car'"),
        (("dead-letters", "order"), "dead-letters of all aggregates are in one topic"),
        (("everything",), "everything"),
    ],
)
def test_tail_names_what_is_wrong_with_its_arguments(
    verdict: Run, arguments: tuple[str, ...], problem: str
) -> None:
    found = verdict("tail", *arguments, "--no-follow")

    assert found.exit_code == 2
    assert problem in " ".join(found.stderr.replace("│", " ").split())


def test_state_is_folded_from_the_events(story: Run) -> None:
    [now] = story("state", "order", ORDER, "--json").lines
    [then] = story("state", "order", ORDER, "--at-version", "3", "--json").lines

    assert (now["version"], now["life_cycle"], now["state"]) == (4, "DELETED", None)
    assert now["position"]["topic"] == "cli.order.events"
    assert (then["version"], then["life_cycle"]) == (3, "ACTIVE")
    assert then["state"] == {
        "quantity": 5,
        "limit_price_cents": 100,
        "filled": 5,
        "status": "completed",
    }


def test_state_as_of_a_time_stops_there(story: Run) -> None:
    [first, *_] = story("tail", "events", "order", "--id", ORDER, "--no-follow").lines

    [then] = story("state", "order", ORDER, "--at", first["decided_at"], "--json").lines
    [before] = story("state", "order", ORDER, "--at", "2020-01-01T00:00:00Z", "--json").lines

    assert then["version"] >= 1
    assert (before["version"], before["life_cycle"], before["state"]) == (0, "NONE", None)


def test_an_aggregate_or_a_version_that_does_not_exist_is_named(story: Run) -> None:
    nobody = story("state", "order", "nobody's", "--json")
    later = story("state", "order", ORDER, "--at-version", "9")
    future = story("state", "order", ORDER, "--at", "2999-01-01T00:00:00Z")

    assert (nobody.exit_code, nobody.lines) == (1, [])
    assert (later.exit_code, future.exit_code) == (1, 1)
    assert "2999-01-01T00:00:00.000Z is in the future" in future.stderr
    assert 'there is no order "nobody\'s": neither the archive nor Kafka' in nobody.stderr
    assert later.stderr.endswith(f"order '{ORDER}' is at version 4, there is no 9 yet\n")
