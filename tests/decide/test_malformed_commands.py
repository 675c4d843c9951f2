"""Commands with usable ids that no aggregate can accept."""

import json
from typing import Any

import pytest

from commands.order import ModifyOrder
from tests.application import CATALOG, encode_command
from tests.decide.desk import CANCELLING, PLACING, as_json, refused, without
from tests.model import Record
from tests.traffic import START
from tests.wire.examples import ENVELOPE
from verdict.model.reason import Reason
from verdict.write_side.decide.respond import invalid_response

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
NOTHING = {"payload": "give quantity, limit_price_cents or both"}
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


@pytest.mark.parametrize(
    ("field", "value"), [(field, one) for field, values in PAYLOADS.items() for one in values]
)
def test_a_field_of_the_payload_that_does_not_fit_is_named(field: str, value: object) -> None:
    answer = refused(as_json(PLACING | {field: value}))

    assert (answer.reason, answer.command_type) == (Reason.INVALID_COMMAND, "PlaceOrder")
    assert list(answer.details) == [f"payload.{field}"]
    assert f"payload.{field}: " in answer.message


@pytest.mark.parametrize(
    ("field", "value"), [(field, one) for field, values in ENVELOPES.items() for one in values]
)
def test_a_field_of_the_envelope_that_does_not_fit_is_named(field: str, value: Any) -> None:
    answer = refused(
        as_json(value) if field == "payload" else as_json(CANCELLING, **{field: value})
    )

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [field])
    assert (answer.correlation_id, answer.actor) == ("c-1", None)


@pytest.mark.proves("C-09")
@pytest.mark.parametrize("field", sorted(set(PLACING) - {"type"}))
def test_a_missing_field_is_named(field: str) -> None:
    answer = refused(as_json(without(PLACING, field)))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [f"payload.{field}"])


@pytest.mark.parametrize("name", ["expected_version", "payload"])
def test_the_envelope_needs_its_required_fields(name: str) -> None:
    envelope = without(json.loads(as_json(CANCELLING).value or b""), name)

    answer = refused(as_json(CANCELLING)._replace(value=json.dumps(envelope).encode()))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [name])


@pytest.mark.parametrize(
    ("payload", "details"),
    [
        *(
            ({"type": "ModifyOrder"} | nothing, NOTHING)
            for nothing in ({}, {"quantity": None}, {"quantity": None, "limit_price_cents": None})
        ),
        *(
            (untyped, {"payload.type": "must name the command's type"})
            for untyped in ({}, {"quantity": 5}, {"type": None}, {"type": 5})
        ),
    ],
)  # fmt: skip
def test_a_payload_that_modifies_nothing_or_has_no_type_is_invalid(
    payload: dict[str, Any], details: dict[str, str]
) -> None:
    answer = refused(as_json(payload))

    assert (answer.reason, answer.details) == (Reason.INVALID_COMMAND, details)
    assert answer.command_type == ("ModifyOrder" if "payload" in details else None)


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
    assert len(answer.message) < 10 * 450


def test_a_malformed_command_is_answered_without_digest_versions_and_state() -> None:
    record = as_json(PLACING | {"quantity": 0}, correlation_id="𝄞" * 256, actor="ada")
    response = invalid_response(CATALOG["order"], refused(record))

    assert response.actor == "ada"
    assert (response.command_id, response.aggregate_id) == ("c-1", "order-1")
    assert (response.command_type, response.status) == ("PlaceOrder", "REJECTED")
    assert (response.command_digest, response.expected_version) == (None, None)
    assert (response.from_version, response.to_version) == (None, None)
    assert (response.actual_version, response.actual_state) == (None, None)
    assert (response.correlation_id, response.decided_at) == ("𝄞" * 256, START)
    assert (response.retriable, response.duplicate, response.event_ids) == (False, False, [])


def test_strictness_is_the_same_in_avro() -> None:
    zero = ModifyOrder.model_construct(quantity=0, limit_price_cents=None)
    value = encode_command("order", ENVELOPE, zero)

    answer = refused(Record("order.commands", 0, 0, START, ENVELOPE.aggregate_id.encode(), value))

    assert list(answer.details) == ["payload.quantity"]
