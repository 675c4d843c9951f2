"""What makes an event, a command and a topic the same one forever."""

from datetime import timedelta
from hashlib import sha256
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.order import CancelOrder, DeleteOrder, ModifyOrder
from tests.application import APPLICATION
from tests.wire.arbitrary import AGGREGATES, INSTANTS, commands
from verdict.model.application import UnknownAggregateError
from verdict.model.command import Command
from verdict.model.message import Message, epoch_millis, iso_time
from verdict.model.recorded_event import event_id
from verdict.model.source import Source
from verdict.wire.topics import Topics
from verdict.write_side.decide.digest import command_digest


def test_the_id_of_an_event_is_fixed_for_ever() -> None:
    assert event_id("order", "order-1", 1) == "22a73100-bdeb-58f6-bcc0-b2d3f55181c5"


@pytest.mark.parametrize(
    ("command", "canonical"),
    [
        (ModifyOrder(quantity=5), '{"quantity":5,"type":"ModifyOrder"}'),
        (CancelOrder(cause="zu spät"), '{"cause":"zu spät","type":"CancelOrder"}'),
        (DeleteOrder(), '{"type":"DeleteOrder"}'),
    ],
)
def test_the_digest_is_of_canonical_json_of_the_type_and_what_is_not_default(
    command: Command, canonical: str
) -> None:
    assert command_digest(command) == sha256(canonical.encode()).digest()


def test_a_field_that_is_added_with_a_default_changes_no_old_digest() -> None:
    class Before(Message):
        quantity: int

    class After(Message):
        quantity: int
        venue: str | None = None
        urgent: bool = False

    After.__name__ = "Before"

    assert command_digest(After(quantity=5)) == command_digest(Before(quantity=5))
    assert command_digest(After(quantity=5, urgent=True)) != command_digest(Before(quantity=5))


@given(AGGREGATES.flatmap(lambda name: st.tuples(commands(name), commands(name))))
def test_two_commands_have_one_digest_only_if_they_are_equal(pair: tuple[Command, Command]) -> None:
    one, other = pair

    assert (command_digest(one) == command_digest(other)) == (one == other)


@given(INSTANTS)
def test_a_time_survives_its_iso_form(millis: int) -> None:
    assert epoch_millis(iso_time(millis)) == millis
    assert len(iso_time(millis)) == len("2026-11-21T12:00:00.000Z")


def test_a_source_sorts_in_the_order_of_decisions() -> None:
    places = [Source("b", 0, 0), Source("a", 1, 10), Source("a", 1, 2), Source("a", 0, 10)]

    assert [str(place) for place in sorted(places)] == ["a:0:10", "a:1:2", "a:1:10", "b:0:0"]


def test_a_message_takes_nothing_unknown_and_never_changes() -> None:
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        DeleteOrder(colour="red")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="frozen"):
        CancelOrder().cause = "regret"  # type: ignore[misc]


def test_topics_are_named_after_their_aggregate_and_the_progress_records_after_the_deployment() -> (
    None
):
    topics = Topics(APPLICATION, deployment="blue", prefix="x.")

    names = [topic.name for topic in topics.all()]

    aggregates = ("enrolment", "invoice", "loyalty", "order", "position")
    kinds = ("commands", "events", "responses", "rejected")
    assert names == [
        *(f"x.{name}.{kind}" for name, kind in product(aggregates, kinds)),
        "x.dead-letters",
        "x.retry",
        "x.blue.replies",
        "x.share-holders",
        "x.POS",
        "x.shipment",
        "x.loyalty",
        "x.blue.progress",
        "x.blue.skips",
        "x.owners",
    ]
    assert topics.transactional_id("decider") == "x.blue.decider"
    assert topics.aggregate_of("x.order.commands") == "order"
    assert topics.every_commands() == [f"x.{name}.commands" for name in aggregates]


def test_topics_have_the_settings_of_the_contract() -> None:
    topics = {topic.name: topic for topic in Topics(APPLICATION).all()}

    commands, progress_records = topics["order.commands"], topics["verdict.progress"]
    assert commands.settings["retention.ms"] == str(timedelta(days=30) // timedelta(milliseconds=1))
    assert commands.settings["message.timestamp.type"] == "LogAppendTime"
    assert "max.message.bytes" not in commands.settings  # Kafka's own limit, for whole batches
    assert (progress_records.partitions, progress_records.settings["cleanup.policy"]) == (
        1,
        "compact",
    )
    for kind in ("events", "responses", "rejected"):
        output = topics[f"order.{kind}"]
        assert output.partitions == commands.partitions == 4
        assert output.settings["retention.ms"] == "-1"
        assert output.settings["max.message.bytes"] == str(4 * 2**20)


def test_the_error_of_an_unknown_aggregate_lists_the_known_ones() -> None:
    there = ("enrolment", "invoice", "loyalty", "order", "position")
    assert APPLICATION.aggregate_types == there
    with pytest.raises(
        UnknownAggregateError, match=f"no aggregate 'car': there are {', '.join(there)}"
    ):
        APPLICATION.aggregate("car")
