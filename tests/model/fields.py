"""What a field may hold, as plain predicates."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

Holds = Callable[[Any], bool]
Fields = dict[str, tuple[Holds, bool]]  # name → (what it may hold, whether it must be there)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MILLISECOND = (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH) // timedelta(
    milliseconds=1
) + 999
LARGEST_LONG = 9_223_372_036_854_775_807


def text(value: Any) -> bool:
    """Text is neither empty nor holds a NUL."""
    return isinstance(value, str) and value != "" and "\0" not in value


def text_of_at_most(characters: int) -> Holds:
    """Return the rule of an id."""
    return lambda value: text(value) and len(value) <= characters


def integer(value: Any) -> bool:
    """Only a real integer is one: not `true`, not `2.0`, not `"3"`."""
    return type(value) is int and value <= LARGEST_LONG


def positive(value: Any) -> bool:
    """Amounts, quantities and prices are more than nothing."""
    return integer(value) and value > 0


def side(value: Any) -> bool:
    """An order is one of two."""
    return value in ("BUY", "SELL")


def amount(value: Any) -> bool:
    """Money, which may be nothing."""
    return integer(value) and value >= 0


def address(value: Any) -> bool:
    """Where to, as far as it is known."""
    places = ("address_line", "city", "state", "pin_code", "contact_number")
    return fits(value, dict.fromkeys(places, (text, False)))


def line_items(value: Any) -> bool:
    """One article or more."""
    return isinstance(value, list) and bool(value) and all(fits(one, LINE_ITEM) for one in value)


def expectation(value: Any) -> bool:
    """A version, or one of three words."""
    return (integer(value) and value >= 0) or value in ("ANY", "NO_STREAM", "EXISTS")


def milliseconds(value: Any) -> int | None:
    """Return a time in epoch milliseconds, None when it is none."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            return None
        value = (moment - EPOCH) // timedelta(milliseconds=1)
    return value if integer(value) and 0 <= value <= LAST_MILLISECOND else None


def time(value: Any) -> bool:
    """ISO 8601 with a zone, or epoch milliseconds."""
    return milliseconds(value) is not None


def fits(sent: Any, fields: Fields) -> bool:
    """Whether `sent` has nothing unknown, nothing missing and nothing ill-typed."""
    if not isinstance(sent, dict) or not sent.keys() <= fields.keys():
        return False
    return all(
        holds(sent[name]) if sent.get(name) is not None else not required
        for name, (holds, required) in fields.items()
    )


NAME = text_of_at_most(256)
COMMAND_ID = text_of_at_most(128)
AGGREGATE_ID = text_of_at_most(256)
LINE_ITEM: Fields = {
    "item_code": (text, True),
    "item_description": (text, False),
    "item_price_cents": (amount, True),
    "item_qty": (positive, True),
    "total_value_cents": (amount, True),
}
ENVELOPE: Fields = {
    "command_id": (COMMAND_ID, True),
    "aggregate_id": (AGGREGATE_ID, True),
    "expected_version": (expectation, True),
    "deadline": (time, False),
    "correlation_id": (NAME, False),
    "causation_id": (text, False),
    "actor": (text, False),
    "traceparent": (text, False),
    "issued_at": (time, False),
    "payload": (lambda value: isinstance(value, dict), True),
}
PAYLOADS: dict[str, dict[str, Fields]] = {
    "enrolment": {
        "EnrolParticipant": {"program": (NAME, True)},
        "ActivateParticipant": {},
        "DeactivateParticipant": {},
        "RecordLogin": {"at": (time, True)},
        "MoveParticipant": {"program": (NAME, True)},
    },
    "invoice": {
        "RecordInvoice": {
            "created_time": (time, True),
            "store_id": (NAME, True),
            "customer_card_no": (NAME, False),
            "number_of_items": (positive, True),
            "delivery_address": (address, False),
            "invoice_line_items": (line_items, True),
            **dict.fromkeys(("pos_id", "cashier_id", "customer_type"), (text, True)),
            **dict.fromkeys(("payment_method", "delivery_type"), (text, True)),
            **dict.fromkeys(("total_amount_cents", "taxable_amount_cents"), (amount, True)),
            **dict.fromkeys(("cgst_cents", "sgst_cents", "cess_cents"), (amount, True)),
        },
    },
    "loyalty": {
        "AwardPoints": {
            "invoice_number": (NAME, True),
            "total_cents": (amount, True),
            "points_hundredths": (amount, True),
        },
    },
    "order": {
        "PlaceOrder": {
            "client": (NAME, True),
            "ticker": (text, True),
            "side": (side, True),
            "quantity": (positive, True),
            "limit_price_cents": (positive, True),
        },
        "ModifyOrder": {"quantity": (positive, False), "limit_price_cents": (positive, False)},
        "FillOrder": {"quantity": (positive, True), "price_cents": (positive, True)},
        "CancelOrder": {"cause": (text, False)},
        "DeleteOrder": {},
    },
    "position": {
        "OpenPosition": {
            "client": (NAME, True),
            "ticker": (text, True),
            "exchange": (text, True),
            "amount": (positive, True),
        },
        "AdjustPosition": {"amount": (positive, True)},
        "RelistPosition": {"exchange": (text, True)},
        "TransferPosition": {"client": (NAME, True)},
        "ClosePosition": {},
    },
}
