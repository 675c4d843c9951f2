"""Workers without a coordinator, on both databases, against a real mail server."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.mail.desk import ALL, LEASE_MS, Desk, clients_of
from tests.mail.post_office import PostOffice
from verdict.errors import Unreachable, VerdictError
from verdict.mail.share import Share

pytestmark = pytest.mark.both_databases

FIRST, SECOND = Share(1, 2), Share(2, 2)


def to(*clients: str) -> list[str]:
    return sorted(f"{client}@example.com" for client in clients)


@pytest.mark.proves("H-10")
def test_each_mail_is_sent_once_by_workers_that_know_nothing_of_each_other(
    desk: Desk, office: PostOffice
) -> None:
    """H-10."""
    clients = clients_of(ALL, 30)
    desk.record(*clients)

    with ThreadPoolExecutor(3) as workers:
        counts = [*workers.map(lambda k: desk.send(Share(k, 3), f"w{k}"), (1, 2, 3))]
    desk.now += 2 * LEASE_MS
    again = [desk.send(Share(k, 3)) for k in (1, 2, 3)]

    assert office.receivers == to(*clients)
    assert sum(count.sent for count in counts) == len(clients)
    assert all(0 < count.sent < len(clients) for count in counts)
    assert {row[:2] for row in desk.rows("status, error")} == {("SENT", None)}
    assert [one.sent for one in again] == [0, 0, 0]


def test_many_of_the_same_worker_send_each_mail_once(desk: Desk, office: PostOffice) -> None:
    """Such as by a cron that starts the next before the last has ended."""
    clients = clients_of(ALL, 20)
    desk.record(*clients)

    with ThreadPoolExecutor(4) as workers:
        [*workers.map(lambda k: desk.send(ALL, f"w{k}"), range(4))]

    assert office.receivers == to(*clients)


def test_a_mail_says_who_holds_how_much_as_of_when(desk: Desk, office: PostOffice) -> None:
    desk.record("ada", "x")
    desk.send()

    [ada, x] = office.received
    assert ada["Subject"] == "Your US positions at the end of 2026-W46"
    assert (ada["From"], ada["To"]) == ("verdict@example.com", "ada@example.com")
    assert ada["Date"] == "Mon, 16 Nov 2026 00:00:00 +0000"
    assert ada["Auto-Submitted"] == "auto-generated"
    assert [(str(ada["Message-ID"]),)] == desk.rows("message_id", "client = 'ada'")
    assert ada.get_content().splitlines() == [
        "Dear ada,",
        "",
        "at the end of week 2026-W46 (2026-11-16T00:00:00.000Z) you held 3 positions on US "
        "exchanges.",
    ]
    assert "you held 1 position on US exchanges." in x.get_content()
    assert desk.rows("status, sent_at") == [("SENT", "2026-11-16T00:00:00.000Z")] * 2


@pytest.mark.proves("H-10")
def test_the_share_of_a_worker_that_never_came_is_taken_over(
    desk: Desk, office: PostOffice
) -> None:
    """H-10."""
    mine, others = clients_of(FIRST, 4), clients_of(SECOND, 4)
    desk.record(*mine, *others)

    assert desk.send(FIRST).sent == len(mine)
    assert office.receivers == to(*mine)
    desk.now += LEASE_MS
    assert desk.send(FIRST).sent == len(others)
    assert office.receivers == to(*mine, *others)


@pytest.mark.long
@pytest.mark.proves("H-10")
@pytest.mark.process
@pytest.mark.parametrize("step", ["claimed", "delivered"])
def test_the_share_of_a_worker_that_was_killed_is_taken_over(
    desk: Desk, office: PostOffice, step: str
) -> None:
    """H-10: at worst, between the server's answer and the note, a mail comes twice, alike."""
    mine, others = clients_of(FIRST, 3), clients_of(SECOND, 3)
    desk.record(*mine, *others)
    doomed = [sys.executable, "-m", "tests.mail.doomed", desk.url, office.url, step]

    assert subprocess.run(doomed, timeout=60).returncode == -signal.SIGKILL
    before = office.message_ids
    assert desk.send(SECOND, "alive").sent == len(others)
    assert desk.send(FIRST, "restarted").sent == len(mine) - 1
    desk.now += LEASE_MS
    assert desk.send(SECOND, "alive").sent == 1

    doubled = mine[:1] if step == "delivered" else []
    assert office.receivers == to(*mine, *others, *doubled)
    assert len(before) == len(doubled)
    assert len(set(office.message_ids)) == len([*mine, *others])
    assert {status for (status,) in desk.rows("status")} == {"SENT"}


@pytest.mark.proves("H-10")
def test_a_refused_address_fails_with_the_servers_words_and_stops_nobody(
    desk: Desk, office: PostOffice
) -> None:
    desk.record("ada", "bob", "cleo", "dora d")
    office.answers["bob@example.com"] = "550 5.1.1 no such user"

    counts = desk.send()

    assert (counts.sent, counts.failed, counts.put_back) == (2, 2, 0)
    assert desk.rows("client, status, error", "status = 'FAILED' AND client = 'bob'") == [
        ("bob", "FAILED", "550 5.1.1 no such user")
    ]
    [(error,)] = desk.rows("error", "client = 'dora d'")
    assert error.startswith("no address: NoAddress: 'dora d@example.com' is no mail address")
    desk.now += LEASE_MS
    assert desk.send().sent == 0
    assert office.receivers == to("ada", "cleo")


def test_what_is_refused_for_now_is_tried_again_by_the_next_run(
    desk: Desk, office: PostOffice
) -> None:
    desk.record("ada", "bob", "cleo")
    office.answers["bob@example.com"] = "451 4.7.1 greylisted, come back"

    counts = desk.send()
    assert (counts.sent, counts.failed, counts.put_back) == (2, 0, 1)
    assert desk.rows("client, error", "status = 'DUE'") == [
        ("bob", "451 4.7.1 greylisted, come back")
    ]
    office.answers.clear()
    assert desk.send().sent == 1
    assert office.receivers == to("ada", "bob", "cleo")
    assert desk.rows("error", "client = 'bob'") == [(None,)]


def test_a_directory_that_is_away_puts_back_and_one_that_knows_nobody_fails(
    desk: Desk, office: PostOffice
) -> None:
    def directory(client: str) -> str:
        if client == "bob":
            raise ConnectionError("the directory is away")
        return {"ada": "ada@example.com"}[client]

    desk.record("ada", "bob", "cleo")
    desk.send(to=directory)

    assert desk.rows("client, status, error") == [
        ("ada", "SENT", None),
        ("bob", "DUE", "no address can be told now: the directory is away"),
        ("cleo", "FAILED", "no address: KeyError: 'cleo'"),
    ]
    assert office.receivers == to("ada")


def test_a_lost_connection_leaves_the_mail_to_the_next_run_under_the_same_id(
    desk: Desk, office: PostOffice
) -> None:
    desk.record("ada", "bob")
    office.hangs_up = True
    assert desk.send().put_back == 2
    office.hangs_up = False
    assert desk.send().sent == 2

    assert office.receivers == to("ada", "ada", "bob", "bob")
    assert len(set(office.message_ids)) == 2


def test_a_server_that_does_not_answer_stops_the_run_and_fails_nothing(
    desk: Desk, office: PostOffice
) -> None:
    desk.record("ada")
    there, desk.smtp_url = desk.smtp_url, "smtp://127.0.0.1:1"

    with pytest.raises(Unreachable, match=r"mail server 127\.0\.0\.1:1: .*refused"):
        desk.send()
    desk.smtp_url = there
    assert desk.send().sent == 1
    desk.smtp_url = "smtp://127.0.0.1:1"
    assert desk.send().sent == 0  # nothing is due, nobody is called


def test_a_refused_sender_stops_the_run_and_fails_nothing(desk: Desk, office: PostOffice) -> None:
    desk.record("ada", "bob")
    office.to_senders = "553 5.7.1 not you"

    with pytest.raises(
        VerdictError, match=r"refuses the sender verdict@example\.com \(553 5\.7\.1 not you\)"
    ):
        desk.send()
    assert desk.rows("status") == [("DUE",), ("DUE",)]
    office.to_senders = "451 busy"
    assert desk.send().put_back == 2
