"""`verdict up` as a process: a command meets a bug, comes back, and is accepted."""

import time
from pathlib import Path

import pytest

from commands.order import PlaceOrder
from tests.application import APPLICATION
from tests.dead_letters.ailing import FIXED
from tests.kit.deployment import PAUSE_S
from tests.kit.service import Deployment
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.client.client import Client
from verdict.wire.records import decode
from verdict.wire.response import Response

PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
WAIT_S = 120


@pytest.mark.proves("C-10", "R-04")
@pytest.mark.thorough  # its halves: tests/decide/test_handler_error.py and test_retry.py
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_command_that_met_a_bug_comes_back_and_is_accepted_once_that_is_fixed(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """C-10, R-01, R-04: under the same command id, as a HANDLER_ERROR is not remembered."""
    deployment = Deployment(broker.bootstrap_servers, "ailing", tmp_path / "d")
    deployment.environment["VERDICT_APP"] = "tests.dead_letters.ailing:app"
    with deployment.running():
        with Client(APPLICATION, deployment.servers, topics=deployment.topics) as client:
            pending = client.send("order-1", PLACE, expected_version=0, command_id="c-1")
            failed = pending.wait(timeout_s=WAIT_S)
        (tmp_path / "d" / FIXED).touch()
        *_, last = answered(deployment, "ACCEPTED")

    assert (failed.status, failed.reason) == ("REJECTED", "HANDLER_ERROR")
    assert (last.command_id, last.to_version, last.duplicate) == ("c-1", 1, False)
    commands = deployment.commands()
    assert {(one.key, one.value) for one in commands} == {(commands[0].key, commands[0].value)}
    assert len(commands) >= 2
    assert deployment.sql("select * from dead_letter", "support") == []


def answered(deployment: Deployment, status: str) -> list[Response]:
    """Return the answers about orders, as soon as the last one says so."""
    topic, deadline = deployment.topics.responses("order"), time.monotonic() + WAIT_S
    while True:
        found = [
            decode(Response, m.value or b"") for m in deployment.published() if m.topic == topic
        ]
        if found and found[-1].status == status:
            return found
        assert time.monotonic() < deadline, [one.status for one in found]
        time.sleep(PAUSE_S)
