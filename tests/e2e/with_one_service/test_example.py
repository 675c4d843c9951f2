"""The service of a team's own, as examples/ shows it, in front of a real one."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from examples import orders
from tests.kit.service import Deployment

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("service")]

ORDER = {
    "client": "example", "ticker": "AAPL", "side": "BUY", "quantity": 10,
    "limit_price_cents": 15000,
}  # fmt: skip
PATH = "/orders/by-example"


@pytest.fixture
def team(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Somebody who asks the example, which has time for a busy machine."""
    for name, value in deployment.environment.items():
        if name.startswith("VERDICT_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("KAFKA", deployment.servers)
    monkeypatch.setattr(orders, "ANSWER_S", 60.0)
    monkeypatch.setattr(orders, "SHOWN_S", 60.0)
    with TestClient(orders.service) as client:
        yield client


def told(answer: Any) -> tuple[int, str | None, int | None]:
    said = answer.json()
    return answer.status_code, said["reason"], said["actual_version"]


@pytest.mark.long
def test_each_outcome_has_its_status(team: TestClient) -> None:
    assert told(team.put(PATH, json=ORDER)) == (201, None, None)
    assert told(team.put(PATH, json=ORDER)) == (409, "VERSION_CONFLICT", 1)
    assert told(team.patch(f"{PATH}?version=1", json={"quantity": 20})) == (200, None, None)
    assert told(team.patch(f"{PATH}?version=1", json={"quantity": 5})) == (
        409, "VERSION_CONFLICT", 2,
    )  # fmt: skip
    assert team.patch(f"{PATH}?version=2", json={"quantity": "5"}).status_code == 422
    assert told(team.patch(f"{PATH}-never?version=0", json={"quantity": 5}))[0] == 404

    shown = team.get("/clients/example/orders?id=by-example&version=2").json()
    assert shown["fresh"] is True
    assert [(one["order_id"], one["quantity"]) for one in shown["orders"]] == [("by-example", 20)]


@pytest.mark.long
def test_a_client_without_an_outcome_in_time_asks_again_with_the_key(
    team: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as hasty:
        hasty.setattr(orders, "ANSWER_S", 0.0)
        unknown = team.put(f"{PATH}-2", json=ORDER)
    key = {"Idempotency-Key": unknown.json()["idempotency_key"]}

    again = team.put(f"{PATH}-2", json=ORDER, headers=key)
    assert (unknown.status_code, again.status_code) == (202, 201)
    assert again.json()["duplicate"] is True
