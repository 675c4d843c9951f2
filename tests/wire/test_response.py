"""A response in the hands of who sent the command."""

import json
import pickle

import pytest
from hypothesis import given

from tests.read_side.responses import ACCEPTED, REJECTED
from tests.wire.arbitrary import REJECTIONS, RESPONSES
from tests.wire.examples import REJECTION, RESPONSE
from verdict.model.reason import Reason
from verdict.wire.codec import DecodeError
from verdict.wire.json import readable
from verdict.wire.records import decode, encode
from verdict.wire.response import CommandRejectedError, Rejection, Response, Status


@given(RESPONSES)
def test_a_response_survives_its_json_and_has_its_enums(response: Response) -> None:
    found = decode(Response, encode(response))

    assert Response.model_validate_json(response.model_dump_json()) == response
    assert type(found.status) is Status
    assert found.reason is None or type(found.reason) is Reason


@given(REJECTIONS)
def test_what_is_made_unchecked_is_what_is_made_checked(rejection: Rejection) -> None:
    fields = dict(rejection)
    trusted = Rejection.trusted(fields)

    assert trusted == rejection
    assert trusted.model_dump() == rejection.model_dump()
    assert trusted.model_dump_json(exclude_unset=True) == rejection.model_dump_json()
    assert encode(trusted) == encode(rejection)
    assert trusted.model_copy(update={"duplicate": True}).duplicate


def test_json_is_what_the_command_line_prints() -> None:
    shown = json.loads(RESPONSE.model_dump_json())

    assert shown["command_digest"] == bytes(range(32)).hex()
    assert shown["decided_at"] == "2026-11-21T12:00:00.000Z"
    assert shown["source"] == {"topic": "order.commands", "partition": 3, "offset": 14}
    assert (shown["status"], shown["reason"]) == ("REJECTED", "BUSINESS_RULE")
    assert shown["details"] == {"code": "OVERFILL", "quantity": 7, "open": 6}
    assert (shown["expected_version"], shown["actual_state"]) == (7, "ACTIVE")
    assert readable(RESPONSE) == shown
    raw = REJECTION.model_copy(update={"command_bytes": b"\xff\xfe"})
    assert json.loads(raw.model_dump_json())["command_bytes"] == "//4="


def test_a_rejection_is_raised_with_what_happened_and_what_to_do() -> None:
    lost = REJECTED.model_copy(
        update={
            "reason": Reason.VERSION_CONFLICT,
            "message": "expected version 1, order 'order-1' is DELETED at version 2",
        }
    )

    with pytest.raises(CommandRejectedError) as caught:
        lost.raise_for_rejection()

    assert ACCEPTED.raise_for_rejection() is ACCEPTED
    assert caught.value.response is lost
    assert str(caught.value) == (
        "ModifyOrder 'c-2' to order 'order-1' was rejected, VERSION_CONFLICT: expected version 1, "
        "order 'order-1' is DELETED at version 2; reload, decide again, and send that under a new "
        "id"
    )
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.response, str(again)) == (lost, str(caught.value))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_advice(reason: Reason) -> None:
    assert ("same id" in reason.advice) == reason.retriable
    assert reason.retriable == (reason in ("QUARANTINED", "HANDLER_ERROR"))


@pytest.mark.proves("G-08")
def test_a_reason_of_a_newer_service_is_named() -> None:
    newer = Response.trusted(dict(RESPONSE) | {"reason": "NOT_ON_SUNDAYS"})

    with pytest.raises(DecodeError, match="reason of this response is 'NOT_ON_SUNDAYS': Input sho"):
        decode(Response, encode(newer))
