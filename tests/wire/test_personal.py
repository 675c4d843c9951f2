from typing import Annotated

from schemas.invoice import DeliveryAddress, InvoiceLineItem, InvoiceRecorded
from verdict.model.message import Message, Name, Text
from verdict.model.personal import Personal, masked, personal_fields, personal_paths


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
