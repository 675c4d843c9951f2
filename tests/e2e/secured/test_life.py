"""One service lives behind a password and a certificate; it, and who asks, may do what is printed.

Whatever it wrote and showed is searched for secrets.
"""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.application import APPLICATION
from tests.e2e.secured.broker import Secured
from tests.e2e.secured.life import PLANTED, READS, Environment, as_role, verdict
from verdict.cli.acls import KafkaPrincipal
from verdict.streaming.event_log.subscription import subscribe

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def files_in(folder: Path) -> dict[str, bytes]:
    """What each file holds; the service runs, so one may leave before it is read."""
    found = {}
    for at, _, names in os.walk(folder):
        for file in filter(Path.is_file, (Path(at, name) for name in names)):
            with suppress(FileNotFoundError):
                found[str(file)] = file.read_bytes()
    return found


@pytest.mark.proves("S-02", "S-04")
def test_a_password_and_a_certificate_open_to_each_role_what_it_needs(
    shown: dict[str, str],
) -> None:
    """Each of these ended with 0; `topics check` has nothing to say then."""
    silent = [" ".join(verb) for verb in READS if not shown[" ".join(verb)]]
    assert set(silent) <= {"topics check", "topics check --json"}
    assert shown["send"] == "ACCEPTED order 'o-1' version 0 → 1\n"
    assert '"type": "OrderPlaced"' in shown["tail events --no-follow"]
    assert "ACCEPTED" in shown["history order o-1"]
    [status] = [json.loads(line) for line in shown["status --json"].splitlines()]
    assert status["problems"] == []
    assert sum(partition["end"] for partition in status["commands"]) == 2


def test_a_subscriber_follows_events(
    shown: dict[str, str], settings: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in as_role(KafkaPrincipal.SUBSCRIBER, settings).items():
        monkeypatch.setenv(name, value)

    with subscribe(APPLICATION, "order") as subscription:
        first = next(iter(subscription.events()))

    assert (first.event.aggregate_id, first.event.version) == ("o-1", 1)


@pytest.mark.proves("S-02")
def test_no_secret_is_shown_or_kept(shown: dict[str, str], folder: Path, kafka: Secured) -> None:
    """In what the verbs print, logs, Spark's pages, REST and events, and every file of ours."""
    kept = {**files_in(folder / "d"), **files_in(folder / "events")}
    kept["the broker's log"] = (folder / "kafka" / "broker" / "broker.log").read_bytes()
    kept |= {name: text.encode() for name, text in shown.items()}

    # what is searched is what would tell
    events = b"".join(data for name, data in kept.items() if "/events/" in name)
    assert b"QueryProgressEvent" in events
    assert b"KafkaV2[Subscribe[" in events
    assert b"spark.driver.memory" in kept["/environment/"]
    assert b"Physical Plan" in kept[next(name for name in kept if "/sql?" in name)]
    assert b"kafka_password" in kept["config show"]
    assert any(name.endswith("/spark.log") for name in kept)

    key = kafka.mine.key.read_bytes().splitlines()[1]  # a line of the key itself
    secrets = (PLANTED.encode(), key)
    assert [name for name, data in kept.items() if any(one in data for one in secrets)] == []


@pytest.mark.proves("S-02")
@pytest.mark.thorough
def test_recovery_gets_in_by_plain_too(
    shown: dict[str, str], settings: Environment, kafka: Secured
) -> None:
    plain = {"VERDICT_BOOTSTRAP_SERVERS": kafka.sasl, "VERDICT_KAFKA_SASL_MECHANISM": "PLAIN"}

    said = verdict(settings | plain, "recover")

    assert "recovered" in said
    assert PLANTED not in said
