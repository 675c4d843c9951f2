"""Invoices as tills send them, to the topic `POS`: JSON, money as numbers, names in CamelCase.

What else a till puts into its JSON is its own, and is passed over.
"""

import json
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import (
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
)
from pydantic_core import from_json

from commands.invoice import RecordInvoice
from schemas.till_names import till_name
from verdict import Expectation, Inbound, Instant
from verdict.errors import NoCommandError
from verdict.model import AggregateId, CommandEnvelope, Source

CENTS = Decimal(100)
SHOWN_PROBLEMS = 10
DIGITS = 18  # of an amount
# a validator of ours may quote the value in its message; a class of ours means nothing to a till
OWN_WORDS = {
    "value_error": "Input should be a valid value",
    "model_type": "Input should be an object",
}
LONGEST = 40  # digits of a number that is looked at


class NoInvoiceError(NoCommandError):
    """The bytes are no invoice; the message says which fields are at fault, never what they hold.

    They are a customer's, and the message goes where more people look.
    """


def _text(value: Any) -> Any:
    return str(value) if type(value) is int else value


def _cents(amount: Decimal) -> int:
    return int((amount * CENTS).to_integral_value(ROUND_HALF_UP))


# taxes come with fractions of a cent: half a cent is rounded up
Money = Annotated[
    Decimal, Field(ge=0, max_digits=DIGITS, allow_inf_nan=False), PlainSerializer(_cents)
]
# some tills write the numbers of invoices, cards and articles as numbers
Word = Annotated[str, BeforeValidator(_text)]
Number = Annotated[AggregateId, BeforeValidator(_text)]


class Till(BaseModel):
    """How tills name things."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=till_name), extra="ignore", frozen=True
    )


class Address(Till):
    """Where the goods go."""

    address_line: Word | None = None
    city: Word | None = None
    state: Word | None = None
    pin_code: Word | None = None
    contact_number: Word | None = None


class LineItem(Till):
    """One article."""

    item_code: Word
    item_description: Word | None = None
    item_price_cents: Money
    item_qty: int
    total_value_cents: Money


class Invoice(Till):
    """An invoice, with the fields of `RecordInvoice` under a till's names."""

    invoice_number: Number
    created_time: Instant
    store_id: Word
    pos_id: Word
    cashier_id: Word
    customer_type: Word
    customer_card_no: Word | None = None
    total_amount_cents: Money
    number_of_items: int
    payment_method: Word
    taxable_amount_cents: Money
    cgst_cents: Money
    sgst_cents: Money
    cess_cents: Money
    delivery_type: Word
    delivery_address: Address | None = None
    invoice_line_items: list[LineItem]


def command_of(value: bytes, source: Source) -> tuple[CommandEnvelope, RecordInvoice]:
    """Return the command that records the invoice in `value`.

    Its id is the record's place, so one record is one command however often it is read. The same
    invoice in another record is another command, which finds that the invoice is there.

    Raises:
        NoInvoiceError: The bytes are something else; the message names the fields.
    """
    try:
        invoice = Invoice.model_validate(_json(value))
        payload = RecordInvoice.model_validate(invoice.model_dump(exclude={"invoice_number"}))
    except ValidationError as error:
        raise NoInvoiceError(
            _problems(error)
        ) from None  # the cause would show what the fields hold
    envelope = CommandEnvelope(
        command_id=str(source),
        aggregate_id=invoice.invoice_number,
        expected_version=Expectation.NO_STREAM,
        actor=f"till:{payload.store_id}",
        payload={},
    )
    return envelope, payload


def _json(value: bytes) -> Any:
    """Return what JSON says, its fractions as they are written: a float keeps 15 digits of them.

    Raises:
        NoInvoiceError: It is no JSON.
    """
    try:
        from_json(value, allow_inf_nan=False)  # strict, and bounded in depth: what follows is not
        return json.loads(value, parse_float=_fraction)
    except ValueError as error:
        raise NoInvoiceError(f"no invoice: value: Invalid JSON: {error}") from None


def _fraction(text: str) -> Decimal | float:
    """Return a number of any till exactly; one that none writes would take any memory as such."""
    try:
        number = Decimal(text)
    except InvalidOperation:  # it has more digits in its exponent than Decimal takes
        return float(text)
    return number if abs(number.adjusted()) <= LONGEST else float(text)


def _problems(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "no invoice: " + "; ".join(map(_problem, problems[:SHOWN_PROBLEMS]))


def _problem(found: Any) -> str:
    message = OWN_WORDS.get(found["type"], found["msg"])
    return f"{'.'.join(map(str, found['loc'])) or 'value'}: {message}"


point_of_sale = Inbound("point_of_sale", "POS", "invoice", command_of)
