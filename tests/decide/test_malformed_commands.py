"""Commands with usable ids that no aggregate can accept."""

import json
from typing import Any

import pytest

from commands.order import ModifyOrder
from tests.application import encode_command
from tests.decide.desk import CANCELLING, PLACING, as_json, refused
from tests.model import Record
from tests.traffic import START
from tests.wire.examples import ENVELOPE
from verdict.model.reason import Reason

NOT_INTEGERS: tuple[Any, ...] = (2.0, True, False, "3", 1e2, 2**63, None, [1], {})
NOT_POSITIVE = (0, -1, -(2**63))
NOT_TEXTS: tuple[Any, ...] = ("", "\0", "a\0b", 5, True, ["a"], {})
NO_TIMES: tuple[Any, ...] = (
    "tomorrow", "2026-11-21T12:00:00", "2026-13-01T00:00:00Z", "", "1795262400000", 1.5, True,
    -1, 253_402_300_800_000, "1969-12-31T23:59:59Z", [0],
)  # fmt: skip
PAYLOADS: dict[str, tuple[Any, ...]] = {
    "quantity": (*NOT_INTEGERS, *NOT_POSITIVE),
    "limit_price_cents": (*NOT_INTEGERS, *NOT_POSITIVE),
    "client": (*NOT_TEXTS, None, "𝄞" * 257),  # a key of tables has an end
    "ticker": (*NOT_TEXTS, None),
    "side": ("buy", "HOLD", "", None, 1, ["BUY"]),
    "colour": ("red",),
}
SOUND: dict[str, Any] = json.loads(as_json(CANCELLING).value or b"")
ENVELOPES: dict[str, tuple[Any, ...]] = {
    "expected_version": (-1, 2.0, True, "1", "any", "", None, 2**63, [1]),
    "deadline": NO_TIMES,
    "issued_at": NO_TIMES,
    "correlation_id": (*NOT_TEXTS, "𝄞" * 257),
    "causation_id": NOT_TEXTS,
    "actor": NOT_TEXTS,
    "traceparent": NOT_TEXTS,
    "payload": ("CancelOrder", 5, [], None),
    "colour": ("red",),
}


def dropped(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in fields.items() if other != name}


@pytest.mark.proves("C-09")
@pytest.mark.parametrize(
    ("payload", "field"),
    [
        *((PLACING | {name: one}, name) for name, values in PAYLOADS.items() for one in values),
        *((dropped(PLACING, name), name) for name in PLACING if name != "type"),
        *((untyped, "type") for untyped in ({}, {"quantity": 5}, {"type": None}, {"type": 5})),
    ],
)
def test_a_field_of_the_payload_that_does_not_fit_or_is_missing_is_named(
    payload: dict[str, Any], field: str
) -> None:
    answer = refused(as_json(payload))

    assert answer.reason is Reason.INVALID_COMMAND
    assert answer.command_type == ("PlaceOrder" if field != "type" else None)
    assert list(answer.details) == [f"payload.{field}"]
    assert f"payload.{field}: " in (answer.message or "")


@pytest.mark.parametrize(
    ("envelope", "field"),
    [
        *((SOUND | {name: one}, name) for name, values in ENVELOPES.items() for one in values),
        *((dropped(SOUND, name), name) for name in ("expected_version", "payload")),
    ],
)
def test_a_field_of_the_envelope_that_does_not_fit_or_is_missing_is_named(
    envelope: dict[str, Any], field: str
) -> None:
    answer = refused(as_json({})._replace(value=json.dumps(envelope).encode()))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [field])
    assert (answer.correlation_id, answer.actor) == ("c-1", None)


@pytest.mark.parametrize(
    "nothing", [{}, {"quantity": None}, {"quantity": None, "limit_price_cents": None}]
)
def test_a_command_that_modifies_nothing_is_invalid(nothing: dict[str, Any]) -> None:
    answer = refused(as_json({"type": "ModifyOrder"} | nothing))

    assert (answer.reason, answer.command_type) == (Reason.INVALID_COMMAND, "ModifyOrder")
    assert answer.details == {"payload": "give quantity, limit_price_cents or both"}


@pytest.mark.proves("C-09")
@pytest.mark.parametrize("name", ["ExplodeOrder", "", "OrderPlaced", "OpenPosition", "cancelorder"])
def test_the_rejection_of_an_unknown_type_lists_the_known_ones(name: str) -> None:
    answer = refused(as_json({"type": name}))

    assert answer.reason is Reason.UNKNOWN_TYPE
    assert answer.message == (
        f"order has no command {name!r}: "
        "it has PlaceOrder, ModifyOrder, FillOrder, CancelOrder, DeleteOrder"
    )
    assert (answer.details, answer.command_type) == ({"payload.type": name}, None)


@pytest.mark.parametrize("key", [None, b"", b"order-2", b"order-1 ", b"\xff\xfe"])
@pytest.mark.parametrize("payload", [CANCELLING, {"type": "ExplodeOrder"}, {"type": "PlaceOrder"}])
def test_the_key_must_be_the_aggregate_id_and_is_looked_at_first(
    key: bytes | None, payload: dict[str, Any]
) -> None:
    answer = refused(as_json(payload)._replace(key=key))

    assert answer.reason is Reason.INVALID_COMMAND
    assert answer.message == "key: the record's key is not the aggregate_id"
    assert answer.aggregate_id == "order-1"


def test_many_faults_are_named_up_to_ten_and_cut() -> None:
    answer = refused(as_json(CANCELLING | {f"{n}" + "x" * 500: 1 for n in range(50)}))

    assert len(answer.details) == 10
    assert max(map(len, answer.details)) == 200
    assert len(answer.message or "") < 10 * 450


def test_a_malformed_command_is_answered_without_digest_versions_and_state() -> None:
    record = as_json(PLACING | {"quantity": 0}, correlation_id="𝄞" * 256, actor="ada")
    response = refused(record)

    assert (response.command_id, response.aggregate_id) == ("c-1", "order-1")
    assert (response.command_type, response.status) == ("PlaceOrder", "REJECTED")
    assert (response.correlation_id, response.actor) == ("𝄞" * 256, "ada")
    assert response.decided_at == START
    assert {name for name, value in response if value is None} == {
        "command_digest", "from_version", "to_version", "expected_version", "actual_version",
        "actual_state", "last_hash",
    }  # fmt: skip
    assert (response.retriable, response.duplicate, response.event_ids) == (False, False, [])


def test_strictness_is_the_same_in_avro() -> None:
    zero = ModifyOrder.model_construct(quantity=0, limit_price_cents=None)
    value = encode_command("order", ENVELOPE, zero)

    answer = refused(Record("order.commands", 0, 0, START, ENVELOPE.aggregate_id.encode(), value))

    assert list(answer.details) == ["payload.quantity"]
