"""U-04: what programs ask and send; what becomes of a command is shown next to a service."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from commands.order import DeleteOrder, FillOrder, ModifyOrder
from compose.application import app
from tests.application import decode_command
from tests.http.conftest import BEARER, TOKEN, Opened
from tests.http.filled import ODD, PLACE, altered, keep
from verdict.http.commands import sendable, status_of
from verdict.model.message import LARGEST
from verdict.model.reason import Reason
from verdict.settings.discovery import DATABASE
from verdict.testing import InMemory
from verdict.wire.response import Response, Status

DAY_MS = 86_400_000
ENVELOPE = {"aggregate_id": "o-1", "expected_version": 0, "payload": {"type": "DeleteOrder"}}
UNKNOWN = {"aggregate_id": ODD, "command_id": "u", "payload": {"type": "No"}}


def asked(browser: TestClient, path: str, status: int = 200) -> Any:
    answer = browser.get(path)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.proves("U-04")
def test_an_aggregate_has_its_state_at_any_version_and_its_history(shown: TestClient) -> None:
    now = asked(shown, "/state/order/o-1")
    before = asked(shown, "/state/order/o-1?at_version=1")
    told = asked(shown, "/history/order/o-1")["commands"]

    assert (now["version"], now["state"]["filled"]) == (2, 4)
    assert (before["version"], before["state"]["filled"]) == (1, 0)
    assert now["position"]["topic"] == "order.events"
    assert [
        (one["response"]["reason"], [event["version"] for event in one["events"]]) for one in told
    ] == [(None, [1]), (None, [2]), ("VERSION_CONFLICT", []), ("BUSINESS_RULE", [])]


@pytest.mark.proves("U-04")
def test_the_state_at_a_time_is_that_of_what_was_decided_by_then(
    opened: Opened, tmp_path: Path
) -> None:
    days = iter(range(1, 9))
    with InMemory(app, clock=lambda: next(days) * DAY_MS) as memory:
        memory.send("o-1", PLACE, 0)
        memory.send("o-1", DeleteOrder(), 1)
        keep(memory, f"sqlite:///{tmp_path / DATABASE}")
    browser = opened().browser
    changed = [asked(browser, f"/state/order/o-1?at_version={n}")["decided_at"] for n in (1, 2)]

    def at(time: str) -> tuple[int, str]:
        told = asked(browser, f"/state/order/o-1?at={quote(time)}")
        return told["version"], told["life_cycle"]

    assert at("1970-01-01T00:00:00Z") == (0, "NONE")
    assert at(changed[0]) == at(changed[1].replace("00.000Z", "00+00:01")) == (1, "ACTIVE")
    assert at(changed[1]) == at("2100-01-01T00:00:00+01:00") == (2, "DELETED")
    assert asked(browser, f"/state/order/o-1?at={changed[1]}&at_version=1")["version"] == 1
    both = asked(browser, f"/state/order/o-1?at={changed[0]}&at_version=2", 404)
    assert both["detail"] == "order 'o-1' is at that time at version 1, not 2"
    assert asked(browser, "/state/order/o-1?at=2026-01-01T00:00:00", 422)


def test_what_is_not_there_is_said(shown: TestClient) -> None:
    for path in (
        "/state/order/nobody", "/state/nothing/o-1", "/state/order/o-1?at_version=3",
        "/history/order/nobody", "/history/nothing/o-1?_offset=1", "/trace/nobody",
        "/explain/nobody", "/read/nothing",
    ):  # fmt: skip
        told = asked(shown, path, 404)
        assert (told["type"], bool(told["detail"])) == ("urn:verdict:error:NotFoundError", True)


def test_ids_of_any_characters_are_asked_for(shown: TestClient) -> None:
    odd = quote(ODD, safe="")
    flow = {many: asked(shown, f"/trace/{odd}?_limit={many}") for many in (1, 2, 10_000)}

    assert asked(shown, f"/state/order/{odd}")["aggregate_id"] == ODD
    assert len(asked(shown, f"/history/order/{odd}")["commands"]) == 2
    assert asked(shown, f"/explain/{odd}")["command_id"] == ODD
    assert [len(one["commands"]) for one in flow.values()] == [1, 2, 2]
    assert [one["complete"] for one in flow.values()] == [False, True, True]
    assert asked(shown, f"/trace/{odd}?_limit=10001", 422)


def live_and_lose(folder: Path) -> None:
    """Let an order live at one moment, and lose an outcome of it."""
    with InMemory(app, clock=lambda: DAY_MS) as memory:
        memory.send(ODD, PLACE, 0, command_id="placed")
        memory.send(ODD, ModifyOrder(quantity=5), 1)
        memory.send(ODD, PLACE, 0, command_id="placed")
        memory.put("order.commands", json.dumps(ENVELOPE | UNKNOWN).encode(), ODD.encode())
        memory.send(ODD, FillOrder(quantity=5, price_cents=1), 2)
        memory.send(ODD, DeleteOrder(), 9)
        memory.send(ODD, DeleteOrder(), 4)
        keep(memory, f"sqlite:///{folder / DATABASE}")
    altered(folder, "DELETE FROM outcome_v1 WHERE to_version = 2 AND NOT duplicate")


@pytest.mark.proves("U-04")
@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_a_history_is_read_page_by_page_from_its_end(
    opened: Opened, tmp_path: Path, limit: int
) -> None:
    """Each event once and with its command, whatever is at the edge of a page."""
    live_and_lose(tmp_path)
    browser = opened().browser
    told: list[Any] = []
    address = f"/history/order/{quote(ODD, safe='')}"
    path: str | None = f"{address}?_limit={limit}"
    while path:
        page = asked(browser, path)
        assert not page["complete"]
        told = [*page["commands"], *told]
        path = page["next"]

    answered = [(one["response"] or {"reason": "none"}, one["events"]) for one in told]
    caused = [
        [event["version"] for event in events]
        for answer, events in answered
        if answer["reason"] is None and not answer["duplicate"]
    ]
    assert [event["version"] for one in told for event in one["events"]] == [1, 2, 3, 4, 5]
    assert caused == [[1], [3, 4], [5]]
    assert [len(one["events"]) for one in told if not one["response"]] == [1]
    beyond = asked(browser, f"{address}?_offset={LARGEST}")
    assert (beyond["commands"], beyond["next"]) == ([], None)


@pytest.mark.proves("U-04")
def test_a_view_is_read_page_by_page(shown: TestClient) -> None:
    found, path = [], "/read/outcome?aggregate_type=order&_limit=4"
    while path:
        page = asked(shown, path)
        assert len(page["rows"]) <= 4
        found += page["rows"]
        path = page["next"]

    assert len(found) == len({json.dumps(one) for one in found}) == 10
    assert {one["aggregate_type"] for one in found} == {"order"}


def test_a_value_is_of_its_column_s_type(shown: TestClient) -> None:
    assert len(asked(shown, "/read/outcome?duplicate=false&offset=0&_limit=99")["rows"]) > 0
    assert asked(shown, "/read/order_state?version=2&id=o-1")["rows"][0]["quantity"] == 10
    assert "no column 'nope'" in asked(shown, "/read/outcome?nope=1", 400)["detail"]
    wrong = asked(shown, "/read/order_state?version=x", 400)
    assert "version of order_state is integer" in wrong["detail"]
    for view in ("outcome_v1", "sqlite_master", 'outcome" --'):
        asked(shown, f"/read/{quote(view)}", 404)


@pytest.mark.proves("S-05")
def test_a_request_without_the_token_sends_nothing(shown: TestClient, opened: Opened) -> None:
    """Nor does a browser that has it: its cookie is for reading."""
    shown.post("/token", data={"token": TOKEN})
    said = [
        shown.post("/commands/order", json=ENVELOPE),
        shown.post("/commands/order", json=ENVELOPE, headers={"authorization": "Bearer wrong"}),
        opened().browser.post("/commands/order", json=ENVELOPE, headers=BEARER),
    ]

    assert [one.status_code for one in said] == [401, 401, 401]
    assert said[0].headers["www-authenticate"] == "Bearer"
    assert "send the setting page_token as" in said[0].json()["detail"]
    assert "without the setting page_token" in said[2].json()["detail"]


COMMAND = json.dumps(
    {"command_id": "c-1"} | ENVELOPE | {"payload": {"type": "ModifyOrder", "quantity": 5}}
).encode()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        *((body, "") for body in (
            b"", b"[]", b"{}", b'{"aggregate_id": "a"}', b"\xff", b'{"payload": {}}',
            b'{"aggregate_id": 1, "payload": {}}', b'{"aggregate_id": "", "payload": {}}',
            b'{"aggregate_id": "a", "command_id": 7, "payload": {}}',
        )),
        (b"\xef\xbb\xbf" + COMMAND, "a byte order mark"),
        (COMMAND.replace(b"c-1", b"\\udc00"), "surrogate"),
        (COMMAND.replace(b"5", b"-1e400"), "the number -1e400 is too large"),
        (COMMAND.replace(b'"command_id": "c-1", ', b"").replace(b"5", b"-Infinity"), "not JSON"),
    ],
)  # fmt: skip
def test_what_the_decider_cannot_read_is_not_sent(
    shown: TestClient, body: bytes, problem: str
) -> None:
    """As for lines of `verdict send --file`, which has more cases."""
    answer = shown.post("/commands/order", content=body, headers=BEARER)

    assert (answer.status_code, bool(answer.json()["detail"])) == (422, True)
    assert problem in answer.text


@given(json_values)
def test_whatever_is_sent_the_decider_reads(value: object) -> None:
    body = json.dumps(ENVELOPE | {"payload": {"type": "CancelOrder", "cause": value}}).encode()

    with suppress(ValueError):
        aggregate_id, command_id, sent = sendable(body)
        received = decode_command("order", sent)
        assert (received["aggregate_id"], received["command_id"]) == (aggregate_id, command_id)


def test_what_is_too_long_or_has_nowhere_to_go_is_not_sent(opened: Opened) -> None:
    browser = opened(page_token=TOKEN, max_command_bytes=1000).browser
    long = browser.post("/commands/order", content=b"x" * 1001, headers=BEARER)
    unknown = browser.post("/commands/nothing", json=ENVELOPE, headers=BEARER)
    unreachable = browser.post("/commands/order", json=ENVELOPE, headers=BEARER)

    assert [long.status_code, unknown.status_code, unreachable.status_code] == [413, 404, 503]
    assert "at most 1000 bytes" in long.json()["detail"]
    assert unreachable.json()["type"] == "urn:verdict:error:UnreachableError"
    assert "no verdict runs on" in unreachable.json()["detail"]


def test_bytes_go_on_as_they_came_unless_the_id_is_missing() -> None:
    came = b' {"command_id": "c", "aggregate_id": "a", "payload": {"n": 1.50}, "else": 1}\n'
    assert sendable(came) == ("a", "c", came.strip())

    without_id = ENVELOPE | {"payload": {"type": "CancelOrder", "cause": "é" * 100}}
    body = json.dumps(without_id, ensure_ascii=False).encode()
    aggregate_id, command_id, value = sendable(body)
    assert aggregate_id == "o-1"
    assert json.loads(value) == without_id | {"command_id": command_id}
    assert len(value) == len(body) + len(f', "command_id": "{command_id}"')


def test_an_outcome_has_its_status() -> None:
    fields = dict.fromkeys(Response.model_fields)
    statuses = {
        reason: status_of(Response.trusted(fields | {"reason": reason})) for reason in Reason
    }

    assert {reason: status for reason, status in statuses.items() if status != 422} == {
        Reason.COMMAND_ID_REUSED: 409, Reason.QUARANTINED: 409, Reason.VERSION_CONFLICT: 409,
        Reason.ALREADY_EXISTS: 409, Reason.NOT_FOUND: 404, Reason.DELETED: 410,
        Reason.TOO_LARGE: 413, Reason.HANDLER_ERROR: 500,
    }  # fmt: skip
    for before, after, expected in ((0, 1, 201), (1, 2, 200), (0, 0, 200)):
        versions = {"from_version": before, "to_version": after, "status": Status.ACCEPTED}
        assert status_of(Response.trusted(fields | versions)) == expected


@pytest.mark.proves("G-07")
def test_a_history_of_which_something_is_gone_is_not_complete(
    opened: Opened, filled: Path, tmp_path: Path
) -> None:
    altered(
        tmp_path,
        "DELETE FROM event_archive_v1 WHERE aggregate_id = 'o-1' AND version = 2",
        "DELETE FROM outcome_v1 WHERE aggregate_id = 'gone' AND to_version = 2",
        of=filled,
    )
    browser = opened().browser

    whole = {
        id: asked(browser, f"/history/order/{id}")["complete"] for id in ("never", "o-1", "gone")
    }
    assert whole == {"never": True, "o-1": False, "gone": False}
