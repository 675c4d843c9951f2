"""Mails are recorded once, and each is one process's at a time."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.mail.desk import ALL, LEASE_MS, WEEK, Desk, clients_of
from verdict.mail import outbox
from verdict.mail.share import Share
from verdict.model.mailing import Receiver
from verdict.projection.database import open_database

pytestmark = pytest.mark.both_databases

FIRST, SECOND = Share(1, 2), Share(2, 2)


@pytest.mark.proves("H-10")
def test_a_week_is_recorded_once_whoever_comes_first(desk: Desk) -> None:
    clients = clients_of(ALL, 700)

    def record(_: int) -> int:
        engine = open_database(desk.url)
        try:
            return desk.record(*clients, engine=engine)
        finally:
            engine.dispose()

    with ThreadPoolExecutor(4) as workers:
        new = sorted(workers.map(record, range(4)))

    assert new == [0, 0, 0, 700]
    assert outbox.is_recorded(desk.engine, WEEK)
    assert desk.record("late") == 0
    assert desk.rows("week, client, status") == [("2026-W46", c, "DUE") for c in clients]


def test_a_week_in_which_nobody_held_anything_is_recorded_too(desk: Desk) -> None:
    assert not outbox.is_recorded(desk.engine, WEEK)
    assert desk.record() == 0
    assert outbox.is_recorded(desk.engine, WEEK)
    assert desk.record("late") == 0
    assert desk.rows() == []


def test_what_fails_midway_records_nothing(desk: Desk) -> None:
    broken = (Receiver(f"c-{left}", 100 // left) for left in (2, 1, 0))

    with pytest.raises(ZeroDivisionError):
        outbox.record(desk.engine, WEEK, broken, "desk", 0, 0)

    assert not outbox.is_recorded(desk.engine, WEEK)
    assert desk.rows() == []


def test_readers_see_what_was_recorded(desk: Desk) -> None:
    desk.record("ada")

    row = desk.rows("week, client, number, status, worker, lease_until, sent_at, error")
    assert [*map(str, row[0])] == [
        "2026-W46", "ada", "3", "DUE", "None", "2026-11-16T00:15:00.000Z", "None", "None"
    ]  # fmt: skip
    [(message_id,)] = desk.rows("message_id")
    assert message_id == outbox.message_id("desk", WEEK, "ada")


def test_message_ids_tell_deployment_week_and_client_apart() -> None:
    asked = [(d, w, c) for d in ("a", "b") for w in (WEEK,) for c in ("x", "y", "a\0x")]

    assert len({outbox.message_id(*one) for one in asked}) == len(asked)
    # change this, and a mail that is sent again after an upgrade is another one to mail systems
    golden = "<00f93334-3dfa-5fc6-92ee-e562dfa7fc45@mail.verdict.invalid>"
    assert outbox.message_id("desk", WEEK, "ada") == golden


@pytest.mark.proves("H-10")
def test_a_mail_is_leased_to_one_process_at_a_time(desk: Desk) -> None:
    """Many at once, each with connections of its own: every mail is claimed exactly once."""
    clients = clients_of(ALL, 40)
    desk.record(*clients)

    def claim_all(number: int) -> list[str]:
        engine = open_database(desk.url)
        try:
            leases, claimed, after = desk.leases(f"w{number}", engine), list[str](), ""
            while (mail := leases.claim_own(ALL, after)) is not None:
                claimed.append(after := mail.client)
            return claimed
        finally:
            engine.dispose()

    with ThreadPoolExecutor(4) as workers:
        claimed = [*workers.map(claim_all, range(4))]

    assert sorted(client for some in claimed for client in some) == clients


def test_the_share_of_another_is_left_to_it_until_its_time_is_over(desk: Desk) -> None:
    mine, others = clients_of(FIRST, 1), clients_of(SECOND, 1)
    desk.record(*mine, *others)
    first = desk.leases("first")

    desk.now += LEASE_MS - 1
    own, left = first.claim_own(FIRST, ""), first.claim_left(FIRST, "")
    assert own is not None
    assert [own.client] == mine
    assert left is None

    desk.now += 1
    left = first.claim_left(FIRST, "")
    assert left is not None
    assert [left.client] == others
    assert desk.leases("second").claim_own(SECOND, "") is None


def test_who_is_sending_is_left_alone_until_the_lease_has_run_out(desk: Desk) -> None:
    [client] = clients_of(FIRST, 1)
    desk.record(client)
    dead = desk.leases("dead").claim_own(FIRST, "")
    again, other = desk.leases("again"), desk.leases("other")

    desk.now += LEASE_MS - 1
    assert again.claim_own(FIRST, "") is None
    assert other.claim_left(SECOND, "") is None
    desk.now += 1
    assert other.claim_left(SECOND, "") == dead
    assert again.claim_own(FIRST, "") is None


def test_what_is_put_back_is_tried_by_its_own_worker_first(desk: Desk) -> None:
    [client] = clients_of(FIRST, 1)
    desk.record(client)
    leases = desk.leases("one")
    mail = leases.claim_own(FIRST, "")
    assert mail is not None
    leases.put_back(mail, "451 busy\0")

    assert desk.rows("status, worker, error") == [("DUE", None, "451 busy\\0")]
    assert leases.claim_own(FIRST, mail.client) is None  # not again in the same run
    assert desk.leases("other").claim_left(SECOND, "") is None
    assert desk.leases("next").claim_own(FIRST, "") == mail


def test_who_lost_its_lease_can_only_say_that_the_mail_is_sent(desk: Desk) -> None:
    desk.record("ada")
    slow, quick = desk.leases("slow"), desk.leases("quick")
    mail = slow.claim_own(ALL, "")
    assert mail is not None
    desk.now += LEASE_MS
    assert quick.claim_own(ALL, "") == mail

    slow.failed(mail, "550 too late")
    slow.put_back(mail, "451 too late")
    assert desk.rows("status, worker, error") == [("DUE", "quick", None)]
    slow.sent(mail)
    quick.failed(mail, "554 a double")
    assert desk.rows("status, worker, error") == [("SENT", "quick", None)]
