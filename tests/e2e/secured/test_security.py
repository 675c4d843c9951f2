"""SASL and TLS on a real broker, by the named settings: all of verdict gets in, nothing leaks.

One service lives behind a password and a certificate; whatever it wrote and showed is searched.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from commands.order import ModifyOrder
from tests.e2e.certificates import authority
from tests.e2e.secured.broker import Secured
from tests.e2e.secured.life import PLACE, PLANTED, TOPICS, Environment, options_of, verdict
from tests.tiers import the_first_of
from verdict.client.client import Client
from verdict.client.errors import KafkaUnavailable
from verdict.client.listing import list_topics
from verdict.configuration.kafka import SCRAM
from verdict.kafka.access import ClientLog
from verdict.kafka.acls import Role

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600), pytest.mark.process]

HOUR_S = 3600


def files_in(folder: Path) -> dict[str, bytes]:
    """What each file holds; the service runs, so one may leave before it is read."""
    found = {}
    for at, _, names in os.walk(folder):
        for file in filter(Path.is_file, (Path(at, name) for name in names)):
            with suppress(FileNotFoundError):
                found[str(file)] = file.read_bytes()
    return found


@pytest.mark.proves("S-02")
def test_a_password_and_a_certificate_open_all_of_verdict(shown: dict[str, str]) -> None:
    assert "ACCEPTED order 'o-1' version 0 → 1" in shown["send"]
    assert '"type": "OrderPlaced"' in shown["tail events --no-follow"]
    assert "ACCEPTED" in shown["history order o-1"]
    [status] = [json.loads(line) for line in shown["status --json"].splitlines()]
    assert status["problems"] == []
    assert sum(partition["end"] for partition in status["commands"]) == 2


@pytest.mark.proves("S-02")
def test_no_secret_is_shown_or_kept(shown: dict[str, str], folder: Path) -> None:
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

    assert [name for name, data in kept.items() if PLANTED.encode() in data] == []


@pytest.mark.proves("S-02")
@pytest.mark.thorough
def test_recovery_gets_in_by_plain_too(
    shown: dict[str, str], settings: Environment, kafka: Secured
) -> None:
    plain = {"VERDICT_BOOTSTRAP_SERVERS": kafka.sasl, "VERDICT_KAFKA_SASL_MECHANISM": "PLAIN"}

    said = verdict(settings | plain, "recover")

    assert "recovered" in said
    assert PLANTED not in said


@pytest.mark.thorough
def test_a_certificate_alone_opens_a_tls_listener(settings: Environment, kafka: Secured) -> None:
    alone = {name: value for name, value in settings.items() if not name.endswith("_USER")}
    alone |= {"VERDICT_KAFKA_SECURITY_PROTOCOL": "SSL", "VERDICT_BOOTSTRAP_SERVERS": kafka.tls}

    verdict(alone, "topics", "create")


WRONG: dict[str, tuple[dict[str, str | None], str]] = {
    "password": ({"VERDICT_KAFKA_PASSWORD": f"{PLANTED}, but wrong"}, "kafka_password"),
    "mechanism": ({"VERDICT_KAFKA_SASL_MECHANISM": "SCRAM-SHA-256"}, "kafka_sasl_mechanism"),
    "authority": ({"VERDICT_KAFKA_CA_FILE": "{other}"}, "kafka_ca_file"),
    "no certificate": (
        {"VERDICT_KAFKA_CERTIFICATE_FILE": None, "VERDICT_KAFKA_KEY_FILE": None},
        "kafka_certificate_file",
    ),
}


@pytest.mark.proves("S-02")
@pytest.mark.parametrize("what", the_first_of(*WRONG))
def test_what_is_wrong_ends_up_before_spark_starts_and_is_named(
    what: str, settings: Environment, tmp_path: Path
) -> None:
    changed, named = WRONG[what]
    other = str(authority(tmp_path, "other").file)
    wrong = settings | {"VERDICT_DATA_DIR": str(tmp_path / "d")}
    for name, value in changed.items():
        wrong.pop(name, None)
        if value is not None:
            wrong[name] = value.format(other=other)

    said = verdict(wrong, "up", exit_code=5)

    assert f"cannot reach Kafka at {settings['VERDICT_BOOTSTRAP_SERVERS']}" in said
    assert named in said.rpartition("check ")[2]
    assert PLANTED not in said
    assert not (tmp_path / "d" / "spark").exists()


OTHERS = (("tail", "events"), ("status",), ("topics", "check"), ("history", "order", "o-1"))


@pytest.mark.proves("S-02")
@pytest.mark.parametrize(
    "verb",
    [PLACE, *(pytest.param(verb, marks=pytest.mark.thorough) for verb in OTHERS)],
    ids=lambda verb: str(verb[0]),
)
def test_every_verb_names_the_password(verb: tuple[str, ...], settings: Environment) -> None:
    said = verdict(
        settings | {"VERDICT_KAFKA_PASSWORD": f"{PLANTED}, but wrong"}, *verb, exit_code=5
    )

    assert "check kafka_user, kafka_password and kafka_sasl_mechanism" in " ".join(said.split())
    assert PLANTED not in said


def test_a_key_that_does_not_open_is_named(settings: Environment) -> None:
    said = verdict(settings | {"VERDICT_KAFKA_KEY_PASSWORD": PLANTED}, "up", exit_code=2)

    assert "check kafka_key_file and kafka_key_password" in said
    assert PLANTED not in said


def test_a_tls_listener_without_tls_names_the_protocol(settings: Environment) -> None:
    bare = {
        name: value for name, value in settings.items() if not name.startswith("VERDICT_KAFKA_")
    }

    said = verdict(bare, "tail", "events", exit_code=5)

    assert "kafka_security_protocol" in said


@pytest.mark.proves("S-02")
@pytest.mark.parametrize(
    "login",
    the_first_of(
        f'{SCRAM} required username="{Role.DECIDER}" password="{PLANTED}, but wrong";',
        f"malformed {PLANTED}",
    ),
)
@pytest.mark.long
def test_what_only_spark_gets_wrong_is_named(
    login: str, settings: Environment, tmp_path: Path
) -> None:
    wrong = {
        "VERDICT_SPARK_KAFKA": json.dumps({"sasl.jaas.config": login}),
        "VERDICT_DATA_DIR": str(tmp_path / "d"),
    }

    said = verdict(settings | wrong, "up", exit_code=5)

    assert "check spark_kafka" in said
    assert "Traceback" not in said
    log = (tmp_path / "d" / "spark" / "spark.log").read_text()
    assert PLANTED not in said + log


def test_security_without_a_kafka_of_ones_own_is_refused(
    settings: Environment, tmp_path: Path
) -> None:
    ours = settings | {"VERDICT_DATA_DIR": str(tmp_path / "d")}
    ours.pop("VERDICT_BOOTSTRAP_SERVERS")

    said = verdict(ours, "up", exit_code=2)

    assert "the embedded broker is for this machine and knows PLAINTEXT only" in said


def test_a_refusal_ends_the_waiting(settings: Environment) -> None:
    """However long a client would wait."""
    wrong = options_of(settings) | {"sasl.password": f"{PLANTED}, but wrong"}
    servers, log = settings["VERDICT_BOOTSTRAP_SERVERS"], ClientLog()
    config: dict[str, Any] = {**wrong, "bootstrap.servers": servers, "logger": log}
    admin = AdminClient(config)

    def last_failure() -> str:
        admin.poll(0)
        return log.last_failure

    with pytest.raises(KafkaException):
        list_topics(admin, HOUR_S, last_failure)
    with (
        Client(servers, TOPICS, config=wrong) as client,
        pytest.raises(KafkaUnavailable, match="SASL authentication error") as refused,
    ):
        client.send("o-1", ModifyOrder(quantity=5), expected_version=1)
    assert PLANTED not in str(refused.value)
