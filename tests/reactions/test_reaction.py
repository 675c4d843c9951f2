"""What follows from one record, without Kafka and Spark."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any, Never

import pytest

from commands.order import CancelOrder
from commands.point_of_sale import point_of_sale
from compose.application import app
from schemas.invoice import InvoiceRecorded
from schemas.loyalty import PointsAwarded
from tests.application import APPLICATION, decode_command, encode_event
from tests.wire.examples import EVENTS, recorded
from verdict.model.policy import Dispatch, Policy
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.reactions.policies.reaction import Reactions
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.command_record import CommandRecord
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.headers import pairs
from verdict.wire.records import decode
from verdict.wire.topics import COMMAND_TOPIC_BYTES, KEY_BYTES, LARGEST_BYTES, OUTPUT_BYTES, Topics

TOPICS = Topics(APPLICATION)
REACTIONS = Reactions(TOPICS, app.policies, app.notifications, app.inbound)
SALE, AWARDED = EVENTS["invoice"][0], EVENTS["loyalty"][0]
assert isinstance(SALE, InvoiceRecorded)
assert isinstance(AWARDED, PointsAwarded)


def record(topic: str, value: bytes | None, key: bytes | None = b"k") -> CommandRecord:
    return CommandRecord(Source(topic, 1, 7), 5, key, value, len(value or b""), None)


def event_record(event: RecordedEvent) -> CommandRecord:
    topic = TOPICS.events(event.aggregate_type)
    return record(topic, encode_event(event), event.aggregate_id.encode())


def invoice(**fields: Any) -> RecordedEvent:
    assert isinstance(SALE, InvoiceRecorded)
    return recorded("invoice", SALE.model_copy(update=fields), aggregate_id="5582023")


def follows_from(
    event: RecordedEvent, reactions: Reactions = REACTIONS
) -> dict[str, list[OutputRecord]]:
    found: dict[str, list[OutputRecord]] = {}
    for output in reactions.of(event_record(event)):
        found.setdefault(output.topic, []).append(output)
    return found


def letter_of(outputs: Iterator[OutputRecord]) -> DeadLetter:
    (output,) = outputs
    assert output.topic == "dead-letters"
    return decode(DeadLetter, output.value)


def test_the_inputs_are_what_somebody_follows_and_nothing_else() -> None:
    assert REACTIONS.inputs == ["POS", "invoice.events", "loyalty.events", "retry"]
    assert REACTIONS.outputs == ["loyalty", "shipment"]


@pytest.mark.proves("P-02", "P-07")
@pytest.mark.parametrize(
    ("customer", "delivery", "topics"),
    [
        ("PRIME", "HOME-DELIVERY", {"loyalty.commands", "shipment"}),
        ("Prime", "TAKEAWAY", {"loyalty.commands"}),
        ("NONPRIME", "home-delivery", {"shipment"}),
        ("NONPRIME", "TAKEAWAY", set()),
    ],
)
def test_where_an_invoice_goes(customer: str, delivery: str, topics: set[str]) -> None:
    """P-02, P-03, P-07: to each of its outputs once."""
    found = follows_from(invoice(customer_type=customer, delivery_type=delivery))
    assert {topic: len(outputs) for topic, outputs in found.items()} == dict.fromkeys(topics, 1)


@pytest.mark.proves("P-02")
def test_a_shipment_has_the_whole_invoice() -> None:
    (told,) = follows_from(invoice())["shipment"]
    whole = json.loads(told.value)
    assert told.key == b"5582023"
    assert whole["InvoiceNumber"] == "5582023"
    assert whole["DeliveryAddress"]["AddressLine"] == "4 Main Street"
    assert (whole["TotalAmount"], whole["CGST"]) == (11687, 292.18)
    assert [one["TotalValue"] for one in whole["InvoiceLineItems"]] == [1687, 10000]
    headers = dict(pairs(told.headers))
    assert headers["ce_id"] == invoice().event_id
    assert headers["content-type"] == "application/json"


@pytest.mark.proves("P-03")
def test_a_customer_learns_what_was_earned_and_the_total() -> None:
    """P-03: the shape of the notification."""
    event = recorded("loyalty", AWARDED, aggregate_id="4629185211")
    (told,) = follows_from(event)["loyalty"]
    assert json.loads(told.value) == {
        "InvoiceNumber": "5582023",
        "CustomerCardNo": "4629185211",
        "TotalAmount": 11687,
        "EarnedLoyaltyPoints": 233.74,
        "TotalLoyaltyPoints": 1000,
    }


@pytest.mark.parametrize(
    ("unreadable", "retried", "error"),
    [
        (record("POS", b"garbage"), None, "no invoice: value: Invalid JSON: expected value at "),
        (record("POS", None), None, "no invoice: it has no value"),
        (
            record("POS", b"{")._replace(length=70_000, sha256=bytes(32)),
            None,
            "no invoice: it has 70000 bytes, more than a command may have",
        ),
        (record("invoice.events", b"garbage"), None, "no invoice event: value has no Confluent"),
        (record("retry", b"garbage"), "award_points", "no unknown event: "),
        (record("retry", None), "award_points", "no event: it has no value"),
        (
            record("retry", encode_event(invoice())),
            "gone\\xff",
            "no reaction is named 'gone\\\\xff': there are award_points, loyalty, shipment",
        ),
    ],
)
def test_what_cannot_be_read_gets_a_letter(
    unreadable: CommandRecord, retried: str | None, error: str
) -> None:
    letter = letter_of(REACTIONS.of(unreadable, retried))

    assert letter.error.startswith(error)
    assert (letter.source, letter.bytes) == (unreadable.source, unreadable.value)


@pytest.mark.proves("P-07")
def test_a_reaction_that_failed_is_tried_again_alone() -> None:
    """Its letter brings the event back on `retry`, with the reaction's name."""
    retry = event_record(invoice())._replace(source=Source("retry", 0, 3), attempt=1)
    assert [one.topic for one in REACTIONS.of(retry, "award_points")] == ["loyalty.commands"]
    assert [one.topic for one in REACTIONS.of(retry, "shipment")] == ["shipment"]
    [again] = REACTIONS.of(retry, "award_points")
    [first] = follows_from(invoice())["loyalty.commands"]
    assert again == first  # the same command id, so the aggregate knows it
    sent = decode_command("loyalty", first.value)
    assert first.key == sent["aggregate_id"].encode() == b"4629185211"
    assert sent["payload"]["points_hundredths"] == 233_74
    assert list(REACTIONS.of(record("retry", b"a parcel"))) == [], "another service's"


@pytest.mark.proves("P-07", "R-02")
@pytest.mark.parametrize(
    ("value", "name"), [(encode_event(invoice()), "renamed"), (b"garbage", "shipment")]
)
def test_a_retry_that_cannot_be_done_is_parked_for_the_reaction_that_it_is_for(
    value: bytes, name: str
) -> None:
    """One start with another application lacks it; a replay reaches it when it is back."""
    retry = record("retry", value)
    [output] = REACTIONS.of(retry._replace(attempt=1), name)
    assert retry_headers(output) == {
        "retry_attempts": "0",
        "retry_topic": "retry",
        "retry_policy": name,
    }


def test_the_letter_of_a_failure_says_where_and_as_what_it_comes_back() -> None:
    def bug(*_: object) -> Never:
        raise ZeroDivisionError("a bug")

    buggy = replace(
        REACTIONS,
        policies=[Policy("broken", ("invoice",), bug)],
        inbound=[replace(point_of_sale, command_of=bug)],
    )
    retry = event_record(invoice())._replace(source=Source("retry", 0, 3), attempt=2)
    [failed] = buggy.of(retry, "broken")
    [sold] = buggy.of(record("POS", b"{}")._replace(attempt=1))
    [unreadable] = REACTIONS.of(record("POS", b"garbage"))

    assert retry_headers(failed) == {
        "retry_topic": "retry", "retry_policy": "broken", "retry_attempt": "2"
    }  # fmt: skip
    assert retry_headers(sold) == {"retry_topic": "POS", "retry_attempt": "1"}
    assert retry_headers(unreadable) == {"retry_attempts": "0"}


def retry_headers(output: OutputRecord) -> dict[str, str | bytes | None]:
    return {name: value for name, value in pairs(output.headers) if name.startswith("retry")}


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\ud800", "x" * 257])
def test_what_no_reaction_can_be_named_is_no_header(name: str) -> None:
    [output] = REACTIONS.of(record("retry", encode_event(invoice())), name)
    assert "retry_policy" not in dict(pairs(output.headers))


@pytest.mark.proves("C-11")
def test_what_no_topic_would_take_is_a_letter_and_harms_no_other() -> None:
    """A notification beyond its topic's limit, a command beyond that of a commands topic."""

    def asked(event: RecordedEvent) -> Iterator[Dispatch]:
        yield Dispatch("a", CancelOrder(cause="x" * COMMAND_TOPIC_BYTES))

    def told(event: RecordedEvent) -> dict[str, str]:
        return {"told": "x" * OUTPUT_BYTES}

    both = replace(
        REACTIONS,
        policies=(Policy("asks", ("invoice",), asked), *app.policies),
        notifications=(replace(app.notifications[0], name="tells", tell=told), *app.notifications),
    )
    found = follows_from(invoice(), both)
    first, second = (decode(DeadLetter, one.value).error for one in found["dead-letters"])
    assert re.fullmatch(
        r"asks failed: OutputTooLargeError: a record of 1000\d\d\d bytes for order.commands, "
        r"which takes 998000",
        first,
    )
    assert second.startswith("tells failed: OutputTooLargeError: a record of 4194")
    assert {"loyalty.commands", "shipment"} < set(found)


@pytest.mark.proves("C-11")
def test_the_letter_of_the_greatest_record_there_can_be_fits_its_topic() -> None:
    stray = record("invoice.events", b"\xff" * OUTPUT_BYTES, b"k" * KEY_BYTES)
    (output,) = REACTIONS.of(stray._replace(key_length=3_000_000, key_sha256=bytes(32)))
    letter = decode(DeadLetter, output.value)
    assert len(output.value) + len(output.headers) < OUTPUT_BYTES
    assert letter.bytes == b"\xff" * LARGEST_BYTES
    assert (letter.length, letter.key_length) == (OUTPUT_BYTES, 3_000_000)
    assert letter.sha256 == sha256(b"\xff" * OUTPUT_BYTES).digest()


@pytest.mark.proves("P-07")
def test_a_policy_that_fails_does_not_stop_the_others() -> None:
    def half(event: RecordedEvent) -> Iterator[Dispatch]:
        yield Dispatch("a", next(iter(app.policies[0].react(event))).command)
        raise ZeroDivisionError("a bug")

    broken = replace(REACTIONS, policies=(Policy("broken", ("invoice",), half), *app.policies))
    found = follows_from(invoice(), broken)
    assert set(found) == {"dead-letters", "loyalty.commands", "shipment"}
    assert len(found["loyalty.commands"]) == 1  # nothing of the one that failed
    letter = letter_of(iter(found["dead-letters"]))
    place = r"tests/reactions/test_reaction\.py, line \d+"
    assert re.fullmatch(rf"broken failed: ZeroDivisionError: a bug \({place}\)", letter.error)
    assert letter.bytes == encode_event(invoice())
