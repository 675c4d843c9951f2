"""A policy is tested like a rule: given an event, then commands."""

from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.loyalty import AwardPoints
from commands.order import DeleteOrder
from commands.policies.award_points import award_points
from schemas.invoice import InvoiceRecorded
from tests.application import APPLICATION
from tests.wire.examples import EVENTS, TRACE, recorded
from verdict import testing
from verdict.model.command_envelope import Expectation
from verdict.model.policy import COMMAND_IDS, Dispatch, Policy, commands_of
from verdict.model.recorded_event import RecordedEvent
from verdict.testing.outcome import GivenReactions

SALE = EVENTS["invoice"][0]
assert isinstance(SALE, InvoiceRecorded)


def happened(payload: Any, **more: Any) -> RecordedEvent:
    return recorded("invoice", payload, **({"aggregate_id": "5582023"} | more))


def because_of(**fields: Any) -> GivenReactions[Dispatch]:
    return testing.given(APPLICATION, SALE.model_copy(update=fields)).answered_by(award_points)


@pytest.mark.proves("P-03")
def test_a_prime_customer_is_awarded_points_on_the_card_however_prime_is_written() -> None:
    award = AwardPoints(invoice_number="invoice-1", total_cents=11_687_00, points_hundredths=233_74)
    for prime in ("PRIME", "Prime"):
        sold = because_of(customer_type=prime, total_amount_cents=11_687_00)
        sold.then(Dispatch("4629185211", award))
    because_of(customer_type="NONPRIME").then()
    because_of(customer_type="PRIME", customer_card_no=None).then()
    testing.given(APPLICATION, EVENTS["order"][0]).answered_by(award_points).then()


@pytest.mark.proves("P-03")
@given(st.integers(0, 2**53), st.decimals(0, 10, places=4))
def test_points_are_rounded_down(cents: int, factor: Decimal) -> None:
    assert isinstance(SALE, InvoiceRecorded)
    event = happened(SALE.model_copy(update={"total_amount_cents": cents}))
    (asked,) = award_points.bound({"loyalty_factor": factor}).react(event)
    assert isinstance(asked.command, AwardPoints)
    points = asked.command.points_hundredths
    assert points <= cents * factor < points + 1


@pytest.mark.proves("C-15")
def test_a_command_of_a_policy_goes_on_with_the_flow_and_names_its_cause() -> None:
    event = happened(SALE, correlation_id="flow-1", traceparent=TRACE)
    ((envelope, command),) = commands_of(award_points, event)
    assert (type(command), envelope.aggregate_id) == (AwardPoints, "4629185211")
    assert envelope.correlation_id == "flow-1"
    assert envelope.causation_id == event.event_id
    assert envelope.traceparent == TRACE
    assert envelope.actor == "policy:award_points"
    assert envelope.expected_version is Expectation.ANY


def test_the_command_id_follows_from_event_policy_and_place_alone() -> None:
    award = AwardPoints(invoice_number="1", total_cents=1, points_hundredths=1)
    twice = Policy(
        "twice", ("invoice",), lambda event: [Dispatch("a", award), Dispatch("b", award)]
    )
    other = replace(twice, name="other")
    event = happened(SALE)
    again = event._replace(correlation_id="another flow")

    def ids(policy: Policy, event: RecordedEvent) -> list[str]:
        return [envelope.command_id for envelope, _ in commands_of(policy, event)]

    assert ids(twice, event) == ids(twice, again)
    assert len({*ids(twice, event), *ids(other, event)}) == 4
    namespace = UUID(str(COMMAND_IDS))
    assert ids(twice, event)[1] == str(uuid5(namespace, f"twice\0{event.event_id}\x001"))


def test_what_a_policy_asks_for_is_what_its_annotation_says() -> None:
    def both(event: RecordedEvent) -> list[Dispatch[AwardPoints | DeleteOrder]]:
        return [Dispatch("a", DeleteOrder())]

    def any_of(event: RecordedEvent) -> list[Dispatch]:
        return []

    assert award_points.asks == award_points.bound({"loyalty_factor": 1}).asks == (AwardPoints,)
    assert Policy("both", ("invoice",), both).asks == (AwardPoints, DeleteOrder)
    assert Policy("any", ("invoice",), any_of).asks == ()
    assert Policy("untold", ("invoice",), lambda event: []).asks == ()
