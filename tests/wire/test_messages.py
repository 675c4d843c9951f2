"""Messages: how they are copied, and which of their fields are personal."""

from typing import Annotated

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from aggregates.order import Order
from schemas.invoice import DeliveryAddress, InvoiceLineItem, InvoiceRecorded
from tests.wire.arbitrary import AGGREGATES, commands
from verdict.model.command import Command
from verdict.model.message import Message, Name, Text
from verdict.model.personal import Personal, masked, personal_fields, personal_paths

SLOW = BaseModel.model_copy


@given(AGGREGATES.flatmap(commands), st.booleans())
def test_a_copy_is_what_pydantic_makes(command: Command, deep: bool) -> None:
    copied = command.model_copy(deep=deep)

    assert (copied, copied.model_fields_set) == (command, command.model_fields_set)
    assert copied is not command


@given(st.integers(min_value=1), st.sampled_from(["open", "completed"]))
def test_a_copy_has_the_other_values_and_the_original_its_own(filled: int, status: str) -> None:
    order, changed = Order(quantity=5, limit_price_cents=1), {"filled": filled, "status": status}

    copied, expected = order.model_copy(update=changed), SLOW(order, update=changed)

    assert copied == expected
    assert copied.model_dump() == expected.model_dump()
    assert copied.model_fields_set == expected.model_fields_set
    assert copied.model_dump_json(exclude_unset=True) == expected.model_dump_json(
        exclude_unset=True
    )
    assert (order.filled, order.status) == (0, "open")


class Inner(Message):
    name: Annotated[Text, Personal()]
    town: Text


class Outer(Message):
    card: Annotated[Name, Personal()] | None
    inner: Inner
    others: list[Inner]
    by_name: dict[str, Inner]
    phones: list[Annotated[Text, Personal()]]
    none: Inner | None = None


def test_what_is_marked_is_masked_wherever_it_lies() -> None:
    ada, bob = Inner(name="ada", town="Pune"), Inner(name="bob", town="Delhi")
    told = Outer(card="4711", inner=ada, others=[bob], by_name={"b": bob}, phones=["0800"])
    assert masked(told) == {
        "card": None,
        "inner": {"name": None, "town": "Pune"},
        "others": [{"name": None, "town": "Delhi"}],
        "by_name": {"b": {"name": None, "town": "Delhi"}},
        "phones": None,
        "none": None,
    }
    paths = [("card",), ("inner", "name"), ("others",), ("by_name",), ("phones",), ("none", "name")]
    assert personal_paths(Outer) == tuple(paths)


def test_what_is_personal_in_an_invoice() -> None:
    assert personal_fields(InvoiceRecorded) == {"cashier_id", "customer_card_no"}
    assert personal_fields(InvoiceLineItem) == frozenset()
    assert personal_fields(DeliveryAddress) == {"address_line", "pin_code", "contact_number"}
