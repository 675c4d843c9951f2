"""With exactly the ACLs that are printed, each role does its work on a broker that asks."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide some
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.e2e.deployment import ROOT, VERDICT, await_ready, stop
from tests.e2e.secured import HOST, MODULES, free_ports
from verdict.configuration.kafka import librdkafka_options
from verdict.configuration.settings import Settings
from verdict.event_log.subscription import subscribe
from verdict.kafka.acls import Role
from verdict.kafka.topic_check import TopicAdmin
from verdict.local.broker import EmbeddedBroker
from verdict.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.process, pytest.mark.timeout(300)]

TOPICS = Topics("guarded", "shop-")
PLACE = (
    *("send", "order", "PlaceOrder", "--id", "o-1", "--expected-version", "0", "--wait", "60"),
    *("--field", "client=ada", "--field", "ticker=A", "--field", "side=BUY"),
    *("--field", "quantity=1", "--field", "limit_price_cents=1"),
)
RESOURCES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
}
OPERATIONS = {
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return where a broker asks who one is and whether one may; its administrator is nameless."""
    [port] = free_ports(1)
    users = " ".join(f'user_{role}="{role}"' for role in Role)
    listeners = f"PLAINTEXT://{HOST}:{{port}},ASKS://{HOST}:{port}"
    properties: dict[str, str] = {
        "listeners": f"{listeners},CONTROLLER://{HOST}:{{controller_port}}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,ASKS:SASL_PLAINTEXT"
        ),
        "listener.name.asks.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.asks.plain.sasl.jaas.config": (
            f"{MODULES}.plain.PlainLoginModule required {users};"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    folder = tmp_path_factory.mktemp("guarded")
    with EmbeddedBroker(folder, properties=properties) as broker:
        servers = broker.bootstrap_servers
        TopicAdmin({"bootstrap.servers": servers}, TOPICS).create_missing()
        allow(AdminClient({"bootstrap.servers": servers}), printed())
        yield f"{HOST}:{port}"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("decider") / "d"


@pytest.fixture(scope="module")
def placed(address: str, data_dir: Path) -> Iterator[str]:
    """Return what a sender was told by a service that may do what a decider may."""
    with (
        (data_dir.parent / "stderr").open("w") as said,
        subprocess.Popen(
            [VERDICT, "up"], cwd=ROOT, env=environment(address, Role.DECIDER, data_dir),
            stdout=subprocess.PIPE, stderr=said, text=True,
        ) as service,
    ):  # fmt: skip
        try:
            await_ready(service)
            yield verdict(environment(address, Role.SENDER, data_dir), *PLACE).stdout
            stop(service)
        except AssertionError as error:
            error.add_note((data_dir.parent / "stderr").read_text())
            raise
        finally:
            service.kill()


def environment(address: str, role: Role, data_dir: Path) -> dict[str, str]:
    return os.environ | {
        "VERDICT_BOOTSTRAP_SERVERS": address,
        "VERDICT_DATA_DIR": str(data_dir),
        "VERDICT_DEPLOYMENT": TOPICS.deployment,
        "VERDICT_TOPIC_PREFIX": TOPICS.prefix,
        "VERDICT_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "VERDICT_KAFKA_SASL_MECHANISM": "PLAIN",
        "VERDICT_KAFKA_USER": role,
        "VERDICT_KAFKA_PASSWORD": role,
    }


def verdict(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [VERDICT, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )


def printed() -> list[dict[str, Any]]:
    named = {"VERDICT_DEPLOYMENT": TOPICS.deployment, "VERDICT_TOPIC_PREFIX": TOPICS.prefix}
    said = verdict(os.environ | named, "acls", "--json")
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def allow(admin: AdminClient, wanted: list[dict[str, Any]]) -> None:
    bindings = [
        AclBinding(
            RESOURCES[one["resource"]],
            one["name"],
            ResourcePatternType[one["pattern"].upper()],
            one["principal"],
            "*",
            OPERATIONS[one["operation"]],
            AclPermissionType.ALLOW,
        )
        for one in wanted
    ]
    for made in admin.create_acls(bindings).values():
        made.result(30)


def options(address: str, role: Role) -> dict[str, Any]:
    settings = Settings(
        bootstrap_servers=address,
        kafka_security_protocol="SASL_PLAINTEXT",
        kafka_sasl_mechanism="PLAIN",
        kafka_user=role,
        kafka_password=role,
    )
    return librdkafka_options(settings) | {"bootstrap.servers": address}


@pytest.mark.proves("S-04")
def test_a_service_decides_what_a_sender_sends(placed: str) -> None:
    assert placed == "ACCEPTED order 'o-1' version 0 → 1\n"


@pytest.mark.proves("S-04")
def test_a_reader_sees_topics_and_what_became_of_them(
    placed: str, address: str, data_dir: Path
) -> None:
    reader = environment(address, Role.READER, data_dir)
    for words in (
        ("tail", "commands", "order", "--no-follow"), ("tail", "events", "order", "--no-follow"),
        ("history", "order", "o-1"), ("state", "order", "o-1"), ("topics", "check"), ("status",),
    ):  # fmt: skip
        done = verdict(reader, *words)
        assert done.returncode == 0, (words, done.stderr)
        assert done.stdout or words[0] == "topics"


def test_a_subscriber_follows_events(
    placed: str, address: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(address, Role.SUBSCRIBER, data_dir).items():
        monkeypatch.setenv(name, value)

    with subscribe("order") as subscription:
        first = next(iter(subscription.events()))

    assert (first.event.aggregate_id, first.event.version) == ("o-1", 1)


@pytest.mark.proves("S-04")
@pytest.mark.parametrize("role", [Role.SENDER, Role.SUBSCRIBER, Role.READER])
@pytest.mark.parametrize(
    "topic", [TOPICS.events("order"), TOPICS.responses("order"), TOPICS.markers]
)
def test_nobody_but_the_service_writes_what_it_says(placed: str, address: str, role: Role,
                                                    topic: str) -> None:  # fmt: skip
    failed: list[KafkaError | None] = []
    producer = Producer(options(address, role) | {"log_level": 0})
    producer.produce(topic, b"forged", b"o-1", on_delivery=lambda error, _: failed.append(error))
    producer.flush(30)

    [error] = failed
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_sender_reads_no_events(placed: str, address: str, data_dir: Path) -> None:
    done = verdict(environment(address, Role.SENDER, data_dir), "tail", "events", "--no-follow")

    assert done.returncode != 0


def test_nobody_fences_the_service(placed: str, address: str) -> None:
    producer = Producer(
        options(address, Role.SENDER)
        | {"log_level": 0, "transactional.id": TOPICS.transactional_id("decider")}
    )
    with pytest.raises(KafkaException, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        producer.init_transactions(30)
