"""An owner that has nothing to publish, on a real broker: when it finds out that it is none."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from tests.exactly_once.deployment import Deployment
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.errors import UnreachableError
from verdict.streaming.exactly_once import fencing
from verdict.streaming.exactly_once.errors import FencedError
from verdict.streaming.exactly_once.fencing import OwnerWatch, genesis
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.transactions import Transactions

DEADLINE_S = 30


@contextmanager
def watching(deployment: Deployment, owner: Publisher) -> Iterator[OwnerWatch]:
    with closing(OwnerWatch(deployment.kafka, deployment.query, owner.progress)) as watch:
        yield watch


def await_end(watch: OwnerWatch) -> None:
    """Look until it raises."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        watch.check()
        time.sleep(0.01)


@pytest.mark.proves("C-18")
def test_an_owner_without_commands_learns_that_it_was_replaced(deployment: Deployment) -> None:
    former = deployment.claim()
    with watching(deployment, former) as watch:
        watch.check()
        watch.look()
        owner = deployment.claim()

        for looked in (await_end, OwnerWatch.look):
            with pytest.raises(FencedError) as told:
                looked(watch)
            assert owner.progress.owner in str(told.value)
    with watching(deployment, former) as late, pytest.raises(FencedError):
        await_end(late)


def test_an_owner_does_not_stop_for_former_owners_and_other_queries(deployment: Deployment) -> None:
    mail = deployment.beside("mail")
    for _ in range(3):
        deployment.claim().close()
    owner = deployment.claim()
    beside = mail.claim()
    beside.publish(mail.batch(0), mail.outputs(0))
    with watching(deployment, owner) as watch, watching(mail, beside) as others:
        for batch_id in range(3):
            owner.publish(deployment.batch(batch_id), deployment.outputs(batch_id))
        watch.check()
        others.check()
        mail.claim(mail.checkpoint(0, committed=False))
        with pytest.raises(FencedError, match=r"mail was fenced"):
            await_end(others)

        watch.check()


def test_a_claim_that_is_not_visible_yet_is_waited_for(deployment: Deployment) -> None:
    """What is visible until then is the progress record of the owner before."""
    deployment.claim().close()
    neighbour = Transactions(deployment.kafka, f"{deployment.name}.neighbour")
    with closing(neighbour):
        neighbour.begin()
        neighbour.produce(deployment.query.progress_topic, b"neighbour", b"open")
        neighbour.flush()
        claim = replace(genesis(deployment.query, None, {}, 2), owner="a new owner")
        with closing(OwnerWatch(deployment.kafka, deployment.query, claim)) as watch:
            watch.look()
            neighbour.commit()

            with pytest.raises(FencedError, match="fenced by owner"):
                await_end(watch)


def test_without_kafka_a_check_says_nothing_and_a_look_says_so(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fencing, "LOOK_S", 0.0)
    owner = deployment.claim()
    nowhere = KafkaConfig(settings={"bootstrap.servers": "127.0.0.1:1"}, transaction_timeout_s=1)
    with closing(OwnerWatch(nowhere, deployment.query, owner.progress)) as watch:
        watch.check()
        with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1, .* within 1 s"):
            watch.look()
