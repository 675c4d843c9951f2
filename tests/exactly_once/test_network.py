"""A network that fails while a batch is published, or while somebody takes over.

Whatever it does, the batch is there once, and of two owners one goes on.
"""

import gc
import re
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.exactly_once.deployment import Deployment, values
from tests.kit.network import Fault, Proxy
from tests.tiers import the_first_of
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import UnreachableError
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.errors import FencedError, NotPublishedError
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120), pytest.mark.process]
SHORT_S = 3.0  # transaction timeout
MOMENTS = (
    pytest.param(Failpoint.OUTPUT_COMPUTED, marks=pytest.mark.campaign),
    pytest.param(Failpoint.TRANSACTION_OPEN, marks=pytest.mark.campaign),
    Failpoint.BEFORE_COMMIT,
)
LOSING = (Fault.DROP_REPLIES, Fault.BLACK_HOLE, Fault.CUT_REPLIES)


class Outputs(list[OutputRecord]):
    """A list that tells when it is gone."""


@pytest.fixture
def deployment(
    broker: EmbeddedBroker, network: Proxy, request: pytest.FixtureRequest
) -> Iterator[Deployment]:
    """Return a deployment that is reached without the proxy."""
    name = request.node.name.translate(str.maketrans("[_]", "---"))
    deployment = Deployment(broker.bootstrap_servers, name, SHORT_S)
    deployment.create_topics()
    yield deployment
    deployment.close()


@pytest.fixture
def proxied_deployment(deployment: Deployment, network: Proxy) -> Deployment:
    """Return the same deployment, reached through the proxy."""
    through = deployment.beside("decider")
    through.kafka = replace(deployment.kafka, settings={"bootstrap.servers": network.address})
    return through


def failing(network: Proxy, fault: Fault, moment: Failpoint, steps: list[Failpoint]) -> OnStep:
    """Return what lets the network fail at `moment`, once, until the outcome is in doubt."""

    def on_step(step: Failpoint) -> None:
        if step is moment and moment not in steps:
            network.fail(fault)
        if step is Failpoint.IN_DOUBT:
            network.heal()
        steps.append(step)

    return on_step


@pytest.mark.proves("C-18", "F-19")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("fault", the_first_of(*LOSING, Fault.HOLD_REQUESTS))
def test_a_batch_is_published_once_whatever_the_network_loses(
    deployment: Deployment,
    proxied_deployment: Deployment,
    network: Proxy,
    fault: Fault,
    moment: Failpoint,
) -> None:
    steps: list[Failpoint] = []
    publisher = proxied_deployment.claim(on_step=failing(network, fault, moment, steps))

    assert publisher.publish(deployment.batch(0), deployment.outputs(0))

    assert Failpoint.IN_DOUBT in steps
    assert publisher.publish(deployment.batch(1), deployment.outputs(1))
    assert deployment.visible() == values(0, 1)


@pytest.mark.proves("C-18")
def test_a_commit_that_arrives_when_the_next_transaction_is_open_does_not_end_it(
    deployment: Deployment, proxied_deployment: Deployment, network: Proxy
) -> None:
    """Kafka takes a late commit of the same producer for the next one; so the producer is new."""
    steps: list[Failpoint] = []

    def hold_the_commit(step: Failpoint) -> None:
        if step is Failpoint.BEFORE_COMMIT and Failpoint.IN_DOUBT not in steps:
            network.fail(Fault.HOLD_REQUESTS)
        if step is Failpoint.TRANSACTION_OPEN and Failpoint.IN_DOUBT in steps:
            network.heal()
            assert network.await_late_answer(30)
            assert deployment.visible() == []
        steps.append(step)

    publisher = proxied_deployment.claim(on_step=hold_the_commit)

    assert publisher.publish(deployment.batch(0), deployment.outputs(0))

    assert steps.count(Failpoint.TRANSACTION_OPEN) == 2
    assert deployment.visible() == values(0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "outcome"),
    the_first_of((Fault.DROP_REPLIES, False), (Fault.BLACK_HOLE, True)),
)
def test_when_the_network_stays_broken_the_owner_stops_and_the_next_start_finds_out(
    deployment: Deployment,
    proxied_deployment: Deployment,
    network: Proxy,
    fault: Fault,
    outcome: bool,
) -> None:
    def fail_for_good(step: Failpoint) -> None:
        if step is Failpoint.BEFORE_COMMIT:
            network.fail(fault)

    publisher = proxied_deployment.claim(on_step=fail_for_good)
    outputs = Outputs(deployment.outputs(0))
    kept = weakref.ref(outputs)

    with pytest.raises(UnreachableError, match=network.address):
        publisher.publish(deployment.batch(0), outputs)

    del outputs
    gc.collect()
    assert kept() is None, "somebody keeps the records of every batch in doubt"
    next_owner = deployment.claim(deployment.checkpoint(0, committed=False))
    assert next_owner.publish(deployment.batch(0), deployment.outputs(0)) is outcome
    assert deployment.visible() == values(0)


@pytest.mark.proves("F-20")
@pytest.mark.parametrize("fault", the_first_of(*LOSING))
def test_an_owner_that_was_cut_off_and_replaced_stops_when_it_is_back(
    deployment: Deployment, proxied_deployment: Deployment, network: Proxy, fault: Fault
) -> None:
    def while_cut_off(step: Failpoint) -> None:
        if step is Failpoint.BEFORE_COMMIT:
            network.fail(fault)
        if step is Failpoint.IN_DOUBT:
            owner = deployment.claim(deployment.checkpoint(0, committed=False))
            owner.publish(deployment.batch(0), deployment.outputs(0))
            owner.publish(deployment.batch(1), deployment.outputs(1))
            owner.close()
            network.heal()

    former = proxied_deployment.claim(on_step=while_cut_off)

    with pytest.raises(FencedError, match="fenced by"):
        former.publish(deployment.batch(0), deployment.outputs(0))

    assert deployment.visible() == values(0, 1)


@pytest.mark.proves("C-18")
@pytest.mark.parametrize("fault", the_first_of(Fault.DROP_REPLIES, Fault.CUT_REPLIES))
def test_the_owner_of_a_query_goes_on_though_its_claim_was_not_acknowledged(
    deployment: Deployment, proxied_deployment: Deployment, network: Proxy, fault: Fault
) -> None:
    """Else both would stop: the former owner finds the claim in the progress record."""
    former = deployment.claim()
    steps: list[Failpoint] = []

    def on_step(step: Failpoint) -> None:
        failing(network, fault, Failpoint.CLAIM_SENT, steps)(step)
        if step is Failpoint.IN_DOUBT:
            with pytest.raises(FencedError):
                former.publish(deployment.batch(0), deployment.outputs(0, wording="!"))

    owner = proxied_deployment.claim(on_step=on_step)

    assert Failpoint.IN_DOUBT in steps
    assert owner.publish(deployment.batch(0), deployment.outputs(0))
    assert deployment.visible() == values(0)


@pytest.mark.parametrize("fault", the_first_of(Fault.BLACK_HOLE, Fault.HOLD_REQUESTS))
def test_a_process_that_did_not_claim_in_time_stops_and_the_former_owner_goes_on(
    deployment: Deployment, proxied_deployment: Deployment, network: Proxy, fault: Fault
) -> None:
    """Also when his commit arrives later."""
    former = deployment.claim()

    def on_step(step: Failpoint) -> None:
        if step is Failpoint.CLAIM_SENT:
            network.fail(fault)
        if step is Failpoint.IN_DOUBT:
            former.publish(deployment.batch(0), deployment.outputs(0))
            network.heal()

    with pytest.raises(NotPublishedError, match=re.escape(former.progress.owner)):
        proxied_deployment.claim(on_step=on_step)

    assert former.publish(deployment.batch(1), deployment.outputs(1))
    assert deployment.visible() == values(0, 1)


@pytest.mark.parametrize("fault", the_first_of(Fault.DROP_REPLIES, Fault.CUT_REPLIES))
def test_a_short_outage_in_a_commit_is_not_taken_for_success(
    deployment: Deployment, proxied_deployment: Deployment, network: Proxy, fault: Fault
) -> None:
    """The client asks again by itself on a new connection; only the progress record is believed."""
    proxied_deployment.kafka = replace(proxied_deployment.kafka, transaction_timeout_s=60.0)
    steps: list[Failpoint] = []

    def short_outage(step: Failpoint) -> None:
        steps.append(step)
        if step is Failpoint.BEFORE_COMMIT and Failpoint.IN_DOUBT not in steps:
            network.fail(fault)
            threading.Thread(target=heal_after_a_loss, args=[network]).start()

    publisher = proxied_deployment.claim(on_step=short_outage)

    assert publisher.publish(deployment.batch(0), deployment.outputs(0))

    assert Failpoint.IN_DOUBT in steps
    assert deployment.visible() == values(0)


def heal_after_a_loss(network: Proxy) -> None:
    """Heal the network as soon as an answer was lost."""
    assert network.await_loss(30)
    network.heal()
