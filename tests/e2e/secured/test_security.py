"""SASL and TLS on a real broker, by the named settings: all of verdict gets in, nothing leaks."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from commands.order import ModifyOrder
from tests.application import APPLICATION
from tests.e2e.certificates import authority
from tests.e2e.secured.broker import Secured
from tests.e2e.secured.life import PLACE, PLANTED, TOPICS, Environment, options_of, verdict
from tests.tiers import the_first_of
from verdict.adapters.kafka.connection import ClientLog
from verdict.adapters.kafka.listing import list_topics
from verdict.cli.acls import KafkaPrincipal
from verdict.client.client import Client
from verdict.client.errors import KafkaUnavailableError
from verdict.settings.kafka import SCRAM

pytestmark = pytest.mark.timeout(600)

HOUR_S = 3600


@pytest.mark.thorough
def test_a_certificate_alone_opens_a_tls_listener(settings: Environment, kafka: Secured) -> None:
    alone = {name: value for name, value in settings.items() if not name.endswith("_USER")}
    alone |= {"VERDICT_KAFKA_SECURITY_PROTOCOL": "SSL", "VERDICT_BOOTSTRAP_SERVERS": kafka.tls}

    verdict(alone, "topics", "create")


# what is set instead of what is right (None: nothing), the exit code, and what is named
WRONG: dict[str, tuple[dict[str, str | None], int, str]] = {
    "password": (
        {"VERDICT_KAFKA_PASSWORD": f"{PLANTED}, but wrong"},
        5,
        "check kafka_user, kafka_password and kafka_sasl_mechanism",
    ),
    "mechanism": ({"VERDICT_KAFKA_SASL_MECHANISM": "SCRAM-SHA-256"}, 5, "kafka_sasl_mechanism"),
    "authority": ({"VERDICT_KAFKA_CA_FILE": "{other}"}, 5, "check kafka_ca_file"),
    "no certificate": (
        {"VERDICT_KAFKA_CERTIFICATE_FILE": None, "VERDICT_KAFKA_KEY_FILE": None},
        5,
        "check kafka_certificate_file",
    ),
    "key": (
        {"VERDICT_KAFKA_KEY_PASSWORD": PLANTED},
        2,
        "check kafka_key_file and kafka_key_password",
    ),
    "no Kafka": (
        {"VERDICT_BOOTSTRAP_SERVERS": None},
        2,
        "the embedded broker is for this machine and knows PLAINTEXT only",
    ),
}


@pytest.mark.proves("S-02")
@pytest.mark.parametrize("what", the_first_of(*WRONG))
def test_what_is_wrong_ends_up_before_spark_starts_and_is_named(
    what: str, settings: Environment, tmp_path: Path
) -> None:
    changed, exit_code, named = WRONG[what]
    other = str(authority(tmp_path, "other").file)
    wrong = settings | {"VERDICT_DATA_DIR": str(tmp_path / "d")}
    for name, value in changed.items():
        wrong.pop(name, None)
        if value is not None:
            wrong[name] = value.format(other=other)

    said = " ".join(verdict(wrong, "up", exit_code=exit_code).split())

    assert named in said
    assert PLANTED not in said
    assert not (tmp_path / "d" / "spark").exists()


OTHERS = (("tail", "events"), ("status",), ("topics", "check"), ("state", "order", "o-1"))


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
        f'{SCRAM} required username="{KafkaPrincipal.DECIDER}" password="{PLANTED}, but wrong";',
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
        Client(APPLICATION, servers, TOPICS, config=wrong) as client,
        pytest.raises(KafkaUnavailableError, match="SASL authentication error") as refused,
    ):
        client.send("o-1", ModifyOrder(quantity=5), expected_version=1)
    assert PLANTED not in str(refused.value)
