import json
from typing import Any

import pytest

from commands.order import ModifyOrder
from tests.application import CATALOG, encode_command
from tests.decision.desk import as_json
from tests.decision.receiving import (
    CANCELLING,
    PLACING,
    refused,
    without,
)
from tests.model import Record
from tests.traffic import START
from tests.wire.examples import ENVELOPE
from verdict.model.reason import Reason
from verdict.write_side.decide.respond import invalid_response

NOT_INTEGERS: tuple[Any, ...] = (2.0, True, False, "3", 1e2, 2**63, None, [1], {})
NOT_POSITIVE = (0, -1, -(2**63))
NOT_TEXTS: tuple[Any, ...] = ("", "\0", "a\0b", 5, True, ["a"], {})


@pytest.mark.parametrize("field", ["quantity", "limit_price_cents"])
@pytest.mark.parametrize("value", [*NOT_INTEGERS, *NOT_POSITIVE])
def test_a_number_is_a_positive_integer_and_nothing_like_it(field: str, value: object) -> None:
    answer = refused(as_json(PLACING | {field: value}))

    assert answer.reason is Reason.INVALID_COMMAND
    assert list(answer.details) == [f"payload.{field}"]
    assert f"payload.{field}: " in answer.message
    assert answer.command_type == "PlaceOrder"


@pytest.mark.parametrize("field", ["client", "ticker"])
@pytest.mark.parametrize("value", [*NOT_TEXTS, None])
def test_a_text_is_neither_empty_nor_has_it_nul(field: str, value: object) -> None:
    answer = refused(as_json(PLACING | {field: value}))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [f"payload.{field}"])


def test_what_tables_are_keyed_by_has_an_end() -> None:
    """As an index of PostgreSQL has."""
    longest, longer = "𝄞" * 256, "𝄞" * 257

    client = refused(as_json(PLACING | {"client": longer}, correlation_id=longest))
    flow = refused(as_json(PLACING, correlation_id=longer))

    assert (client.reason, [*client.details]) == (Reason.INVALID_COMMAND, ["payload.client"])
    assert client.correlation_id == longest
    assert (flow.reason, [*flow.details]) == (Reason.INVALID_COMMAND, ["correlation_id"])
    assert flow.correlation_id == flow.command_id


@pytest.mark.parametrize("value", ["buy", "HOLD", "", None, 1, ["BUY"]])
def test_a_side_is_one_of_two(value: object) -> None:
    answer = refused(as_json(PLACING | {"side": value}))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, ["payload.side"])


@pytest.mark.proves("C-09")
@pytest.mark.parametrize("field", sorted(set(PLACING) - {"type"}))
def test_a_missing_field_is_named(field: str) -> None:
    answer = refused(as_json(without(PLACING, field)))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [f"payload.{field}"])


def test_an_unknown_field_is_named_wherever_it_stands() -> None:
    in_payload = refused(as_json(CANCELLING | {"colour": "red"}))
    in_envelope = refused(as_json(CANCELLING, colour="red"))

    assert (in_payload.reason, list(in_payload.details)) == (
        Reason.INVALID_COMMAND,
        ["payload.colour"],
    )
    assert (in_envelope.reason, list(in_envelope.details)) == (Reason.INVALID_COMMAND, ["colour"])


@pytest.mark.parametrize(
    "payload", [{}, {"quantity": None}, {"quantity": None, "limit_price_cents": None}]
)
def test_modifying_nothing_is_invalid(payload: dict[str, Any]) -> None:
    answer = refused(as_json({"type": "ModifyOrder"} | payload))

    assert answer.reason is Reason.INVALID_COMMAND
    assert answer.details == {"payload": "give quantity, limit_price_cents or both"}


@pytest.mark.parametrize("expected", [-1, 2.0, True, "1", "any", "", None, 2**63, [1]])
def test_an_expectation_is_a_version_or_one_of_three_words(expected: object) -> None:
    answer = refused(as_json(CANCELLING, expected_version=expected))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, ["expected_version"])


@pytest.mark.parametrize("name", ["expected_version", "payload"])
def test_the_envelope_needs_its_required_fields(name: str) -> None:
    envelope = without(json.loads(as_json(CANCELLING).value or b""), name)
    record = as_json(CANCELLING)._replace(value=json.dumps(envelope).encode())

    answer = refused(record)

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [name])


@pytest.mark.parametrize(
    "time",
    [
        "tomorrow", "2026-11-21T12:00:00", "2026-13-01T00:00:00Z", "", "1795262400000", 1.5, True,
        -1, 253_402_300_800_000, "1969-12-31T23:59:59Z", [0],
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["deadline", "issued_at"])
def test_what_is_no_time_of_this_age_with_a_zone_is_refused(field: str, time: Any) -> None:
    answer = refused(as_json(CANCELLING, **{field: time}))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [field])


@pytest.mark.parametrize("field", ["correlation_id", "causation_id", "actor", "traceparent"])
@pytest.mark.parametrize("value", NOT_TEXTS)
def test_the_texts_of_the_envelope_are_texts(field: str, value: Any) -> None:
    answer = refused(as_json(CANCELLING, **{field: value}))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, [field])
    assert answer.actor is None


@pytest.mark.parametrize("payload", ["CancelOrder", 5, [], None])
def test_a_payload_is_an_object(payload: Any) -> None:
    answer = refused(as_json(payload))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, ["payload"])


@pytest.mark.parametrize("payload", [{}, {"quantity": 5}, {"type": None}, {"type": 5}])
def test_a_payload_without_a_type_is_invalid(payload: dict[str, Any]) -> None:
    answer = refused(as_json(payload))

    assert answer.reason is Reason.INVALID_COMMAND
    assert answer.details == {"payload.type": "must name the command's type"}
    assert answer.command_type is None


@pytest.mark.proves("C-09")
@pytest.mark.parametrize("name", ["ExplodeOrder", "", "OrderPlaced", "OpenPosition", "cancelorder"])
def test_an_unknown_type_is_told_which_types_there_are(name: str) -> None:
    answer = refused(as_json({"type": name}))

    assert answer.reason is Reason.UNKNOWN_TYPE
    assert answer.message == (
        f"order has no command {name!r}: "
        "it has PlaceOrder, ModifyOrder, FillOrder, CancelOrder, DeleteOrder"
    )
    assert answer.details == {"payload.type": name}
    assert answer.command_type is None


@pytest.mark.parametrize("key", [None, b"", b"order-2", b"order-1 ", b"\xff\xfe"])
def test_the_key_must_be_the_aggregate_id(key: bytes | None) -> None:
    answer = refused(as_json(CANCELLING)._replace(key=key))

    assert answer.reason is Reason.INVALID_COMMAND
    assert answer.message == "key: the record's key is not the aggregate_id"
    assert answer.aggregate_id == "order-1"


@pytest.mark.parametrize("payload", [{"type": "ExplodeOrder"}, {"type": "PlaceOrder"}, {}])
def test_the_key_is_looked_at_before_the_type_and_its_fields(payload: dict[str, Any]) -> None:
    answer = refused(as_json(payload, key=b"order-2"))

    assert (answer.reason, list(answer.details)) == (Reason.INVALID_COMMAND, ["key"])


def test_many_faults_are_named_up_to_ten_and_cut() -> None:
    answer = refused(as_json(CANCELLING | {f"{n}" + "x" * 500: 1 for n in range(50)}))

    assert len(answer.details) == 10
    assert max(map(len, answer.details)) == 200
    assert len(answer.message) < 10 * 450


def test_a_malformed_command_is_answered_without_digest_versions_and_state() -> None:
    record = as_json(PLACING | {"quantity": 0}, correlation_id="flow", actor="ada")
    response = invalid_response(CATALOG["order"], refused(record))

    assert response.actor == "ada"
    assert (response.command_id, response.aggregate_id) == ("c-1", "order-1")
    assert (response.command_type, response.status) == ("PlaceOrder", "REJECTED")
    assert (response.command_digest, response.expected_version) == (None, None)
    assert (response.from_version, response.to_version) == (None, None)
    assert (response.actual_version, response.actual_state) == (None, None)
    assert (response.correlation_id, response.decided_at) == ("flow", START)
    assert (response.retriable, response.duplicate, response.event_ids) == (False, False, [])


@pytest.mark.parametrize("correlation", [5, "", "a\0b", None])
def test_an_unusable_correlation_id_gives_way_to_the_command_id(correlation: object) -> None:
    answer = refused(as_json({"type": "Explode"}, correlation_id=correlation))

    assert answer.correlation_id == "c-1"


def test_strictness_is_the_same_in_avro() -> None:
    zero = ModifyOrder.model_construct(quantity=0, limit_price_cents=None)
    value = encode_command("order", ENVELOPE, zero)

    answer = refused(Record("order.commands", 0, 0, START, ENVELOPE.aggregate_id.encode(), value))

    assert list(answer.details) == ["payload.quantity"]
