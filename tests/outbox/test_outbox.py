"""A batch is recorded once, and each message belongs to one process at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.outbox.database import BATCH, LEASE_MS, OutboxDatabase
from verdict.projections import DeliveryDeferredError, DeliveryRefusedError, Outbox, OutboxMessage
from verdict.read_side.schema.database import open_database

pytestmark = pytest.mark.both_databases


def in_processes(database: OutboxDatabase, many: int, act: Callable[[Outbox], Any]) -> list[Any]:
    """Do the same in several workers at once, each with connections of its own."""

    def work(number: int) -> Any:
        engine = open_database(database.url)
        try:
            return act(database.process(f"w{number}", engine))
        finally:
            engine.dispose()

    with ThreadPoolExecutor(many) as workers:
        return [*workers.map(work, range(many))]


@pytest.mark.proves("H-10")
def test_a_batch_is_recorded_once_by_whichever_process_is_first(database: OutboxDatabase) -> None:
    keys = sorted(f"client-{number}" for number in range(700))

    new = in_processes(database, 4, lambda one: one.record(BATCH, ((key, {}) for key in keys)))

    assert sorted(new) == [0, 0, 0, 700]
    assert database.process().record("empty", ()) == 0
    assert database.process().is_recorded("empty")
    assert database.process().is_recorded(BATCH)
    assert database.record("late") == 0
    assert database.rows("batch, key, status") == [(BATCH, key, "DUE") for key in keys]


def test_a_failure_midway_records_nothing(database: OutboxDatabase) -> None:
    broken = ((f"c-{left}", {"n": 100 // left}) for left in (2, 1, 0))

    with pytest.raises(ZeroDivisionError):
        database.process().record(BATCH, broken)

    assert not database.process().is_recorded(BATCH)
    assert database.rows() == []


def test_ids_differ_between_deployments_outboxes_batches_and_keys(database: OutboxDatabase) -> None:
    for deployment in ("a", "b"):
        for name in (f"mail-{deployment}", f"letter-{deployment}"):
            for batch in ("x", "y"):
                outbox = Outbox(database.engine, name, deployment)
                outbox.record(batch, [("1", {}), ("2", {})])

    assert len({identity for (identity,) in database.rows("id")}) == 16


@pytest.mark.proves("H-10")
def test_a_message_belongs_to_one_process_at_a_time(database: OutboxDatabase) -> None:
    keys = sorted(f"client-{number}" for number in range(40))
    database.record(*keys)

    def claim_all(outbox: Outbox) -> list[str]:
        claimed = list[str]()
        while (message := outbox.claim(BATCH)) is not None:
            claimed.append(message.key)
        return claimed

    claimed = in_processes(database, 4, claim_all)

    assert sorted(key for some in claimed for key in some) == keys


def test_a_lease_keeps_others_off_until_it_expires(database: OutboxDatabase) -> None:
    database.record("ada")
    dead = database.process("dead").claim(BATCH)
    # if this changes, a message that is sent again after an upgrade looks like another one
    assert dead == OutboxMessage("ada", "c0a491a9-11a6-5ef9-a667-0918fdebd53b", {"positions": 3})

    database.now += LEASE_MS - 1
    assert database.process("other").claim(BATCH) is None
    database.now += 1
    assert database.process("other").claim(BATCH) == dead
    assert database.process("third").claim(BATCH) is None


def test_a_process_that_lost_its_lease_can_only_record_that_it_sent(
    database: OutboxDatabase,
) -> None:
    database.record("ada")
    slow, quick = database.process("slow"), database.process("quick")
    assert slow.claim(BATCH) is not None
    database.now += LEASE_MS
    assert quick.claim(BATCH) is not None

    slow.record_failed(BATCH, "ada", "550 too late")
    slow.put_back(BATCH, "ada", "451 too late")
    [(worker,)] = database.rows("worker", "status = 'DUE' AND error IS NULL")
    assert worker.startswith("quick ")
    slow.record_sent(BATCH, "ada")
    quick.record_failed(BATCH, "ada", "554 a double")
    assert database.rows("status, error") == [("SENT", None)]


def test_a_deferred_message_is_tried_once_by_each_call(database: OutboxDatabase) -> None:
    database.record("ada", "bob")
    tried = list[str]()

    def deliver(message: OutboxMessage) -> None:
        tried.append(message.key)
        if message.key == "ada":
            raise DeliveryDeferredError("451 busy\0")

    first = database.process().send(BATCH, deliver)

    assert (first.sent, first.failed, first.put_back) == (1, 0, 1)
    assert database.rows("key, status, worker, error", "key = 'ada'") == [
        ("ada", "DUE", None, "451 busy\\0")
    ]
    assert database.process().count_due(BATCH) == 1
    database.process().send(BATCH, deliver)
    assert tried == ["ada", "bob", "ada"]


def test_a_refused_message_is_tried_again_only_on_request(database: OutboxDatabase) -> None:
    database.record("ada")

    def refuse(message: OutboxMessage) -> None:
        raise DeliveryRefusedError("550 no such user")

    assert database.process().send(BATCH, refuse).failed == 1
    database.now += LEASE_MS
    assert database.process().send(BATCH, refuse).failed == 0
    assert database.rows("status, error") == [("FAILED", "550 no such user")]
    assert database.process().retry_failed(BATCH) == 1
    assert database.process().send(BATCH, lambda message: None).sent == 1
    assert database.rows("status, error") == [("SENT", None)]


def test_any_other_error_ends_the_call_and_the_message_stays_due(database: OutboxDatabase) -> None:
    database.record("ada", "bob")

    def fail(message: OutboxMessage) -> None:
        raise ConnectionError("no mail server")

    with pytest.raises(ConnectionError):
        database.process().send(BATCH, fail)

    assert database.rows("key, status, worker") == [("ada", "DUE", None), ("bob", "DUE", None)]
