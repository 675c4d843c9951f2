"""A whole service behind a network that fails: it goes on, or stops and goes on when started again.

Everybody else reaches the broker without the proxy.
"""

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import pytest

from tests.e2e.test_owner import assert_taken_over, copied, said, settled, several, started
from tests.kit.network import Fault, ProxiedBroker, Proxy, proxied_broker
from tests.kit.service import PLACE, SELDOM_S, Deployment, Process, await_ready, stop

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(1500),
    pytest.mark.process,
]

SHORT_S = 5  # transaction timeout
COMMITS_S = 60  # so soon
OUTAGES_S = (0.5, SHORT_S + 3.0)
LOSING = (Fault.DROP_REPLIES, Fault.BLACK_HOLE, Fault.CUT_REPLIES)
CLEAR = (1, 5)  # exit codes of a service that says why it stops


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedBroker]:
    with proxied_broker(tmp_path_factory.mktemp("proxied-broker")) as found:
        yield found


def behind(proxied: ProxiedBroker, deployment: Deployment) -> Deployment:
    """Let the services of `deployment` reach the broker through the proxy."""
    deployment.environment |= {
        "VERDICT_BOOTSTRAP_SERVERS": proxied.proxy.address,
        "VERDICT_TRANSACTION_TIMEOUT_S": str(SHORT_S),
    }
    return deployment


@pytest.mark.proves("C-18", "F-19")
def test_outages_of_every_kind_lose_nothing_and_double_nothing(
    proxied: ProxiedBroker, tmp_path: Path
) -> None:
    """C-14, C-18."""
    [deployment] = several(proxied.broker.bootstrap_servers, "outages", tmp_path, 1)
    behind(proxied, deployment)
    stops = Counter[str]()
    with ExitStack() as services:
        with deployment.traffic(1, SELDOM_S):
            service = ready(services, deployment)
            for fault, seconds in product(Fault, OUTAGES_S):
                suffer(proxied.proxy, fault, service, seconds)
                if service.poll() is not None:
                    stops[fault] += 1
                    assert service.returncode in CLEAR
                    service = ready(services, deployment)
        while ends_within(service, 2 * SHORT_S):
            stops["later"] += 1
            assert service.returncode in CLEAR
            service = ready(services, deployment)
        deployment.await_quiet()
        stop(service)

    doubts = said(deployment).count("is in doubt, the progress record will tell")
    print(f"{len(Fault) * len(OUTAGES_S)} outages, {doubts} doubts, stops: {dict(stops)}")
    # a commit whose reply is lost for a moment is asked again by the client, and answered alike:
    # only a longer outage leaves a doubt, and there were three
    assert doubts
    deployment.assert_as_the_model_says()


@pytest.mark.proves("F-20")
def test_a_service_that_was_cut_off_and_replaced_stops_when_it_is_back(
    proxied: ProxiedBroker, tmp_path: Path
) -> None:
    """C-18: it goes on as long as it knows of no other owner, and publishes nothing."""
    first, copy = several(proxied.broker.bootstrap_servers, "cut-off", tmp_path, 2)
    behind(proxied, first).environment["VERDICT_TRANSACTION_TIMEOUT_S"] = "60"
    with started(first) as former:
        await_ready(former)
        first.send(PLACE, expected_version=0, command_id="c-1")
        settled(first)
        proxied.proxy.fail(Fault.BLACK_HOLE)
        with copy.traffic(1, SELDOM_S):
            copied(first, copy)
            with started(copy) as latter:
                await_ready(latter)
                assert former.poll() is None
                proxied.proxy.heal()
                assert_taken_over(former, first, by=latter.pid)
                stop(latter)
    with copy.running():
        again = copy.send(PLACE, expected_version=0, command_id="c-1")
        copy.await_quiet()

    assert again.duplicate
    copy.assert_as_the_model_says()


def ready(services: ExitStack, deployment: Deployment) -> Process:
    service = services.enter_context(started(deployment))
    await_ready(service)
    return service


def suffer(proxy: Proxy, fault: Fault, service: Process, seconds: float) -> None:
    """Let the network fail in the next commit, for so many seconds or until the service ends."""
    proxy.fail_in_a_commit(fault)
    assert proxy.await_failing(COMMITS_S), f"no commit before {fault}"
    assert fault not in LOSING or proxy.await_loss(COMMITS_S), f"{fault} loses nothing"
    ends_within(service, seconds)
    proxy.heal()


def ends_within(service: Process, seconds: float) -> bool:
    """Wait so long, and tell whether the service has ended."""
    try:
        service.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
