"""Workers without a coordinator, on both databases, with a real mail server."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.mail.post_office import PostOffice
from tests.mail.workers import Workers
from tests.outbox.database import LEASE_MS
from verdict.errors import UnreachableError

pytestmark = pytest.mark.both_databases


def to(*clients: str) -> list[str]:
    return sorted(f"{client}@example.com" for client in clients)


@pytest.mark.proves("H-10")
def test_each_mail_is_sent_once_by_workers_that_do_not_know_each_other(
    workers: Workers, office: PostOffice
) -> None:
    """H-10."""
    clients = [f"client-{number}" for number in range(30)]
    workers.record(*clients)

    with ThreadPoolExecutor(3) as processes:
        counts = [*processes.map(workers.send, ("w1", "w2", "w3"))]
    workers.now += 2 * LEASE_MS

    assert office.receivers == to(*clients)
    assert sum(count.sent for count in counts) == len(clients)
    assert {row[:2] for row in workers.rows("status, error")} == {("SENT", None)}
    assert workers.send().sent == 0


def test_a_mail_tells_a_holder_how_many_positions_at_what_time(
    workers: Workers, office: PostOffice
) -> None:
    workers.record("ada", "x")
    workers.send()

    [ada, x] = office.received
    assert ada["Subject"] == "Your US positions at the end of 2026-W46"
    assert (ada["From"], ada["To"]) == ("verdict@example.com", "ada@example.com")
    assert ada["Date"] == "Mon, 16 Nov 2026 00:00:00 +0000"
    assert ada["Auto-Submitted"] == "auto-generated"
    [(identity,)] = workers.rows("id", "key = 'ada'")
    assert ada["Message-ID"] == f"<{identity}@mail.verdict.invalid>"
    assert ada.get_content().splitlines() == [
        "Dear ada,",
        "",
        "at the end of week 2026-W46 (2026-11-16T00:00:00.000Z) you held 3 positions on US "
        "exchanges.",
    ]
    assert "you held 1 position on US exchanges." in x.get_content()
    assert workers.rows("status, sent_at") == [("SENT", "2026-11-16T00:00:00.000Z")] * 2


@pytest.mark.long
@pytest.mark.proves("H-10")
@pytest.mark.process
@pytest.mark.parametrize("step", ["claimed", "delivered"])
def test_another_worker_sends_what_a_killed_one_had(
    workers: Workers, office: PostOffice, step: str
) -> None:
    """H-10: a mail that the server accepted just before the death comes twice, with one id."""
    workers.record("ada", "bob", "cleo")
    doomed = [sys.executable, "-m", "tests.kit.doomed", "mail", workers.url, office.url, step]

    assert subprocess.run(doomed, timeout=60).returncode == -signal.SIGKILL
    before = office.message_ids
    assert workers.send("alive").sent == 2
    workers.now += LEASE_MS
    assert workers.send("alive").sent == 1

    doubled = ["ada"] if step == "delivered" else []
    assert office.receivers == to("ada", "bob", "cleo", *doubled)
    assert len(before) == len(doubled)
    assert len(set(office.message_ids)) == 3
    assert {status for (status,) in workers.rows("status")} == {"SENT"}


@pytest.mark.proves("H-10")
def test_a_refused_address_fails_with_the_reason_and_stops_no_other_mail(
    workers: Workers, office: PostOffice
) -> None:
    workers.record("ada", "bob", "cleo", "dora d")
    office.answers["bob@example.com"] = "550 5.1.1 no such user"

    counts = workers.send()

    assert (counts.sent, counts.failed, counts.put_back) == (2, 2, 0)
    assert workers.rows("key, status, error", "status = 'FAILED' AND key = 'bob'") == [
        ("bob", "FAILED", "550 5.1.1 no such user")
    ]
    [(error,)] = workers.rows("error", "key = 'dora d'")
    assert error.startswith("'dora d@example.com' is not a mail address")
    assert office.receivers == to("ada", "cleo")


def test_a_lost_connection_leaves_the_mail_to_the_next_run_with_the_same_id(
    workers: Workers, office: PostOffice
) -> None:
    workers.record("ada", "bob")
    office.hangs_up = True
    assert workers.send().put_back == 2
    office.hangs_up = False
    assert workers.send().sent == 2

    assert office.receivers == to("ada", "ada", "bob", "bob")
    assert len(set(office.message_ids)) == 2


def test_a_server_that_does_not_answer_ends_the_run_and_every_mail_stays_due(
    workers: Workers,
) -> None:
    workers.record("ada")
    there, workers.smtp_url = workers.smtp_url, "smtp://127.0.0.1:1"

    with pytest.raises(UnreachableError, match=r"mail server 127\.0\.0\.1:1: .*refused"):
        workers.send()
    workers.smtp_url = there
    assert workers.send().sent == 1
    workers.smtp_url = "smtp://127.0.0.1:1"
    assert workers.send().sent == 0  # nothing is due: no connection is made
