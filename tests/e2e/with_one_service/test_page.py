"""U-04, U-05: the page next to a real service: commands by HTTP, and what became of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.with_one_service.conftest import TOKEN
from tests.http.filled import INVOICE
from tests.http.openapi.test_schemathesis import findings
from tests.kit.deployment import await_true
from tests.kit.service import Deployment
from verdict.settings.discovery import find_service

pytestmark = [pytest.mark.timeout(900), pytest.mark.long, pytest.mark.usefixtures("service")]

PLACE = {
    "type": "PlaceOrder", "client": "ada", "ticker": "AAPL", "side": "BUY", "quantity": 10,
    "limit_price_cents": 15000,
}  # fmt: skip


@pytest.fixture
def browser(deployment: Deployment) -> Iterator[httpx2.Client]:
    """Somebody who asks the page that the service announces, with the token."""
    found = find_service(deployment.data_dir)
    assert found is not None
    assert found.page_url is not None
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=found.page_url, headers=bearer, timeout=120) as client:
        yield client


def send(
    browser: httpx2.Client, name: str, expected: int | str, payload: Any, **more: str
) -> httpx2.Response:
    envelope = {"aggregate_id": name, "expected_version": expected, "payload": payload}
    return browser.post("/commands/order?wait_s=60", json=envelope | more)


def shown(browser: httpx2.Client, path: str) -> Any:
    """Return what is at an address as soon as the read side has come to it."""
    await_true(lambda: browser.get(path).status_code != 404, what=f"nothing is at {path}")
    answer = browser.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.proves("U-04")
def test_a_command_is_answered_with_its_outcome_by_its_status(browser: httpx2.Client) -> None:
    name = "by-http/1"
    sent = [
        send(browser, name, 0, PLACE),
        send(browser, name, 0, PLACE),
        send(browser, name, 1, {"type": "FillOrder", "quantity": 4, "price_cents": 1}),
        send(browser, name, 1, {"type": "DeleteOrder"}),
        send(browser, name, 2, {"type": "FillOrder", "quantity": 99, "price_cents": 1}),
        send(browser, name, 2, {"type": "NoSuchCommand"}),
        send(browser, name, 2, {"type": "FillOrder"}),
        send(browser, "by-http/none", "EXISTS", {"type": "DeleteOrder"}),
        send(browser, name, 2, {"type": "DeleteOrder"}),
        send(browser, name, "EXISTS", {"type": "DeleteOrder"}),
    ]

    assert [(one.status_code, one.json()["reason"]) for one in sent] == [
        (201, None),
        (409, "VERSION_CONFLICT"),
        (200, None),
        (409, "VERSION_CONFLICT"),
        (422, "BUSINESS_RULE"),
        (422, "UNKNOWN_TYPE"),
        (422, "INVALID_COMMAND"),
        (404, "NOT_FOUND"),
        (200, None),
        (410, "DELETED"),
    ]
    assert (sent[3].json()["actual_version"], sent[0].json()["to_version"]) == (2, 1)


def test_a_client_that_does_not_wait_gets_the_id_and_asks_with_it_again(
    browser: httpx2.Client,
) -> None:
    envelope = {"aggregate_id": "by-http/2", "expected_version": 0, "payload": PLACE}
    hasty = browser.post("/commands/order?wait_s=0", json=envelope)
    command_id = hasty.json()["command_id"]

    assert (hasty.status_code, hasty.json()["status"]) == (202, "UNKNOWN")
    again = send(browser, "by-http/2", 0, PLACE, command_id=command_id)
    assert (again.status_code, again.json()["duplicate"]) == (201, True)


@pytest.mark.proves("U-04")
def test_what_was_sent_is_shown_by_every_door(browser: httpx2.Client) -> None:
    name, flow = "by-http/3", "by-http-flow"
    first = send(browser, name, 0, PLACE, correlation_id=flow).json()
    second = send(browser, name, 0, PLACE, correlation_id=flow).json()

    [winner] = shown(browser, f"/explain/{second['command_id']}")["records"][0]["winners"]
    assert winner["command_id"] == first["command_id"]
    state = shown(browser, "/state/order/by-http%2F3?at_version=1")
    assert (state["version"], state["state"]["quantity"]) == (1, 10)
    assert len(shown(browser, f"/trace/{flow}")["commands"]) == 2
    assert len(shown(browser, "/history/order/by-http%2F3")["commands"]) == 2
    rows = shown(browser, f"/read/outcome?correlation_id={flow}")["rows"]
    assert [one["status"] for one in rows] == ["ACCEPTED", "REJECTED"]
    assert "by-http/3" in browser.get("/aggregate?aggregate=order&id=by-http/3").text


@pytest.mark.proves("U-05")
def test_a_running_service_is_live_and_ready_and_measured(browser: httpx2.Client) -> None:
    families = text_string_to_metric_families(browser.get("/metrics").text)
    found = {one.name: one.samples for one in families}

    assert browser.get("/livez").json()["live"] is True
    assert browser.get("/readyz").json() == {"ready": True, "why": []}
    assert [one.value for one in found["verdict_ready"]] == [1]
    assert {one.labels["component"] for one in found["verdict_lag_records"]} >= {
        "decider", "policies", "lake", "dead-letters", "outcome",
    }  # fmt: skip
    assert "path" in browser.get("/").text


@pytest.mark.proves("U-05")
def test_how_long_commands_waited_is_measured(browser: httpx2.Client) -> None:
    """It goes along with the service's next sign of life."""
    send(browser, "by-http/4", 0, PLACE)

    waited = measured(browser, "verdict_answer_seconds", "quantile")

    assert waited.keys() == {"0.5", "0.99", "1"}
    assert 0 <= waited["0.5"] <= waited["0.99"] <= waited["1"]


@pytest.mark.proves("X-01")
def test_a_rejected_command_of_a_policy_needs_attention(
    browser: httpx2.Client, deployment: Deployment
) -> None:
    """An account that is full: the points for a sale are rejected, and only `status` says so."""
    card, largest = "full-card", 2**63 - 1
    full = {"type": "AwardPoints", "invoice_number": "i", "total_cents": 1}
    asked = {"aggregate_id": card, "expected_version": "ANY"}
    payload = full | {"points_hundredths": largest}
    browser.post("/commands/loyalty?wait_s=60", json=asked | {"payload": payload})
    sale = INVOICE.model_copy(update={"customer_card_no": card}).model_dump(mode="json")
    sold = {"aggregate_id": "sale-1", "expected_version": "NO_STREAM", "correlation_id": "till-9"}
    payload = {"type": "RecordInvoice", **sale}
    browser.post("/commands/invoice?wait_s=60", json=sold | {"payload": payload})

    deployment.reaches("select rule_code from policy_rejection", ["TOO_MANY_POINTS"])
    [rejected] = browser.get("/read/policy_rejection").json()["rows"]
    assert (rejected["aggregate_id"], bool(rejected["expected"])) == (card, False)
    checked = deployment.cli("status", "--check")
    assert checked.returncode == 1
    assert f"verdict explain {rejected['command_id']}" in checked.stdout
    assert "TOO_MANY_POINTS" in deployment.cli("status").stdout
    [standing] = json.loads(deployment.cli("status", "--json").stdout)["policy_rejections"]
    assert (standing["policy"], standing["rejected"], standing["unexpected"]) == (
        "award_points", 1, 1,
    )  # fmt: skip
    waiting = browser.get("/attention", headers={"accept": "text/html"}).text
    assert f"/explain?id={rejected['command_id']}" in waiting
    assert "/flow?id=till-9" in waiting
    for name in ("verdict_policy_rejected", "verdict_policy_rejected_unexpected"):
        assert measured(browser, name, "policy") == {"award_points": 1}


def measured(browser: httpx2.Client, name: str, label: str) -> dict[str, float]:
    """Return a metric by a label of it, as soon as it has a value."""

    def samples() -> dict[str, float]:
        families = text_string_to_metric_families(browser.get("/metrics").text)
        [of_it] = [one.samples for one in families if one.name == name]
        return {one.labels[label]: one.value for one in of_it}

    await_true(lambda: bool(samples()), what=f"{name} has no value")
    return samples()


@pytest.mark.proves("U-04")
def test_schemathesis_finds_nothing_where_commands_are_decided(
    browser: httpx2.Client, tmp_path: Path
) -> None:
    url = str(browser.base_url).rstrip("/")
    assert findings(url, tmp_path, 120, "--header", f"Authorization: Bearer {TOKEN}") == ""
