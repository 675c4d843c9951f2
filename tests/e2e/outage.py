"""Kafka is away for a while, and the service waits for it."""

import json
import subprocess
import time
from collections.abc import Callable

from commands.order import ModifyOrder, PlaceOrder
from tests.application import APPLICATION
from tests.e2e.deployment import ASK_AGAIN_S, Deployment
from verdict.client.client import Client
from verdict.model.command_envelope import Expectation

WAIT_S = 180
SELDOM_S = 0.1
PLACE = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=150_00)
PATIENT = {"delivery.timeout.ms": "900000"}  # of a sender who outlasts all of this


def outlive(
    deployment: Deployment,
    service: "subprocess.Popen[str]",
    order: str,
    seconds: float,
    leave: Callable[[], None],
    come_back: Callable[[], None],
) -> None:
    """Let Kafka be away for so long, with commands under way and a sender who waits.

    To whoever is told its address as the service is; the traffic may come by another door.
    """
    servers = deployment.environment["VERDICT_BOOTSTRAP_SERVERS"]
    with Client(APPLICATION, servers, deployment.topics, PATIENT) as client:
        client.send(order, PLACE, expected_version=0).wait(WAIT_S)
        with deployment.traffic(seed=len(order), pause_s=SELDOM_S):
            leave()
            back = time.monotonic() + seconds
            waiting = client.send(order, ModifyOrder(quantity=5), Expectation.EXISTS)
            await_told(deployment)
            time.sleep(max(0.0, back - time.monotonic()))
            assert service.poll() is None
            come_back()
            assert waiting.wait(WAIT_S).to_version == 2
    deployment.await_quiet()

    assert service.poll() is None
    await_said(deployment, f"Kafka at {servers} is back after")  # who looks may come last
    said = deployment.said()
    assert "Traceback" not in said
    assert f"Kafka at {servers} is away since" in said


def await_said(deployment: Deployment, words: str) -> None:
    """Return when the service has said that."""
    deadline = time.monotonic() + WAIT_S
    while words not in (said := deployment.said()):
        assert time.monotonic() < deadline, said
        time.sleep(ASK_AGAIN_S)


def await_told(deployment: Deployment) -> None:
    """Return when `verdict status` says that Kafka is away; the service notices in seconds."""
    await_said(deployment, "is away since")  # until then, status would wait for Kafka
    deadline = time.monotonic() + WAIT_S
    while True:
        asked = deployment.cli("status", "--json")
        assert asked.returncode == 5
        problems = " ".join(json.loads(asked.stdout)["problems"])
        if "Kafka is away since" in problems:
            return
        assert time.monotonic() < deadline, problems
