import json
from base64 import b64encode
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.arbitrary import (
    DEAD_LETTERS,
    PROGRESS_RECORDS,
    RECORDED_EVENTS,
    REJECTIONS,
    RESPONSES,
)
from tests.wire.examples import (
    DEAD_LETTER,
    EVENTS,
    REJECTION,
    RESPONSE,
    TRACE,
    recorded,
)
from verdict.wire.json import readable
from verdict.wire.json_lines import json_line

NOON = "2026-11-21T12:00:00.000Z"
AT = {"topic": "order.commands", "partition": 3, "offset": 14}


def test_an_event_shows_hashes_in_hex_times_in_iso_and_the_type_of_its_payload() -> None:
    assert readable(recorded("order", EVENTS["order"][0])) == {
        "event_id": "1b7974bf-eee8-5649-9bd4-85153c9a2d45",
        "aggregate_type": "order",
        "aggregate_id": "order-1",
        "version": 8,
        "index": 0,
        "count": 2,
        "command_id": "c-17",
        "command_digest": bytes(range(32)).hex(),
        "correlation_id": "flow-1",
        "causation_id": "c-17",
        "actor": "ada",
        "traceparent": TRACE,
        "decided_at": NOON,
        "source": AT,
        "handler_version": "1",
        "previous_hash": bytes(range(96, 128)).hex(),
        "payload": {
            "type": "OrderPlaced",
            "client": "ada",
            "ticker": "AAPL",
            "side": "BUY",
            "quantity": 10,
            "limit_price_cents": 150_00,
        },
    }


def test_a_rejection_shows_its_command_in_base64() -> None:
    shown = readable(REJECTION)

    assert shown.pop("command_bytes") == b64encode(REJECTION.command_bytes).decode()
    assert shown == readable(RESPONSE)


def test_a_dead_letter_shows_raw_bytes_in_base64_and_its_hash_in_hex() -> None:
    assert readable(DEAD_LETTER) == {
        "source": AT,
        "error": "value has no Confluent header",
        "key": b64encode(b"\xff\xfe").decode(),
        "bytes": b64encode(b"garbage").decode(),
        "length": 7,
        "sha256": bytes(range(32, 64)).hex(),
        "received_at": NOON,
        "key_length": None,
        "key_sha256": None,
    }


@given(st.one_of(RESPONSES, REJECTIONS, DEAD_LETTERS, PROGRESS_RECORDS, RECORDED_EVENTS))
def test_whatever_is_readable_is_json(record: Any) -> None:
    shown = readable(record)

    assert json.loads(json.dumps(shown)) == shown


def refuse(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


def test_what_is_no_number_in_json_is_a_text() -> None:
    value = {"inf": float("inf"), "rows": [{"nan": float("nan")}, -float("inf"), 1.5]}

    read = json.loads(json_line(value), parse_constant=refuse)

    assert read == {"inf": "Infinity", "rows": [{"nan": "NaN"}, "-Infinity", 1.5]}
