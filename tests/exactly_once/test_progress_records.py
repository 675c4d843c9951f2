"""Reading the progress record on a real broker."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.exactly_once.deployment import Deployment
from verdict.errors import UnreachableError, VerdictError
from verdict.streaming.exactly_once.fencing import genesis
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import holds_records, read_progress
from verdict.streaming.exactly_once.resume_checks import NO_BATCH
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.records import encode


@pytest.fixture
def neighbour(deployment: Deployment) -> Iterator[Transactions]:
    """Another query's producer, which writes to the same progress topic."""
    neighbour = Transactions(deployment.kafka, f"{deployment.query.transactional_id}.neighbour")
    yield neighbour
    neighbour.close()


def write(
    transactions: Transactions, deployment: Deployment, query: Query, generations: range
) -> None:
    for generation in generations:
        progress = replace(genesis(query, None, {}, 2), generation=generation)
        transactions.produce(deployment.query.progress_topic, query.key, encode(progress))


def test_the_last_progress_record_of_a_query_is_found_however_far_back_it_lies(
    deployment: Deployment, neighbour: Transactions
) -> None:
    neighbour.begin()
    write(neighbour, deployment, deployment.query, range(500))
    write(neighbour, deployment, deployment.another("mail"), range(1000))
    neighbour.flush()
    neighbour.commit()

    progress = deployment.progress()

    assert progress is not None
    assert (progress.query, progress.generation) == ("decider", 499)


def test_an_uncommitted_progress_record_does_not_count(
    deployment: Deployment, neighbour: Transactions
) -> None:
    assert read_progress(deployment.kafka, deployment.query, wait=True) == (None, True)
    neighbour.begin()
    write(neighbour, deployment, deployment.query, range(1))
    neighbour.flush()

    assert read_progress(deployment.kafka, deployment.query, wait=False) == (None, False)


def test_a_progress_record_behind_the_open_transaction_of_another_query_is_waited_for(
    deployment: Deployment, neighbour: Transactions
) -> None:
    """A start, too, does not take the record for the newest that the transaction shows."""
    owner = deployment.claim()
    neighbour.begin()
    write(neighbour, deployment, deployment.another("mail"), range(1))
    neighbour.flush()
    owner.publish(deployment.batch(0), deployment.outputs(0))
    hidden = read_progress(deployment.kafka, deployment.query, wait=False)
    assert hidden.progress is not None
    assert (hidden.progress.batch_id, hidden.settled) == (NO_BATCH, False)

    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(deployment.progress)
        starting = threads.submit(deployment.claim, deployment.checkpoint(0, committed=True))
        neighbour.commit()

        found = waiting.result(), starting.result().progress
    assert [one and one.batch_id for one in found] == [0, 0]


def test_a_transaction_that_stays_open_is_reported(
    deployment: Deployment, neighbour: Transactions
) -> None:
    neighbour.begin()
    write(neighbour, deployment, deployment.another("mail"), range(1))
    neighbour.flush()
    impatient = replace(deployment.kafka, transaction_timeout_s=1)

    assert not read_progress(impatient, deployment.query, wait=False).settled
    with pytest.raises(
        UnreachableError, match=r"a transaction on .*progress:0 has been open for 2 s"
    ):
        read_progress(impatient, deployment.query, wait=True)


def test_what_is_no_progress_record_and_a_missing_topic_are_named(deployment: Deployment) -> None:
    deployment.send(deployment.query.progress_topic, b"nonsense", b"decider")
    elsewhere = replace(deployment.query, progress_topic="nowhere.progress")

    with pytest.raises(VerdictError, match="is no progress record"):
        read_progress(deployment.kafka, deployment.query, wait=True)
    with pytest.raises(
        VerdictError, match=r"no topic nowhere\.progress: run `verdict topics create"
    ):
        read_progress(deployment.kafka, elsewhere, wait=False)


def test_aborted_records_are_no_records(deployment: Deployment, neighbour: Transactions) -> None:
    neighbour.begin()
    neighbour.produce(deployment.events, b"k", b"v")
    neighbour.flush()
    neighbour.abandon()

    assert not holds_records(deployment.kafka, (deployment.events,))

    deployment.send(deployment.events, b"v")
    assert holds_records(deployment.kafka, (deployment.events,))
