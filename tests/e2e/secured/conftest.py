"""One broker behind security, and one life of a service on it, for all tests of this folder."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide some
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.e2e.secured.broker import Secured, secured_broker
from tests.e2e.secured.life import (
    KEY_PASSWORD,
    PASSWORD,
    PLANTED,
    TOPICS,
    Environment,
    lived,
    verdict,
)
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.cli.acls import Acl, KafkaPrincipal

NAMED = {
    "VERDICT_DEPLOYMENT": TOPICS.deployment,
    "VERDICT_TOPIC_PREFIX": TOPICS.prefix,
    "VERDICT_PARTITIONS": str(TOPICS.partitions),
}
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


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secured")


@pytest.fixture(scope="session")
def kafka(folder: Path) -> Iterator[Secured]:
    """A broker that allows each role what `verdict acls` prints, and has the topics."""
    with secured_broker(folder / "kafka", list(KafkaPrincipal), PASSWORD, KEY_PASSWORD) as found:
        TopicAdmin({"bootstrap.servers": found.plain}, TOPICS).create_missing()
        allow_what_is_printed(AdminClient({"bootstrap.servers": found.plain}))
        yield found


def allow_what_is_printed(admin: AdminClient) -> None:
    printed = verdict(os.environ | NAMED, "acls", "--json").splitlines()
    named = [json.loads(line) for line in printed]
    assert all(one.pop("principal") == f"User:{one['role']}" for one in named)
    allow(admin, [Acl(**one) for one in named])


def allow(admin: AdminClient, wanted: Sequence[Acl]) -> None:
    for made in admin.create_acls([binding(one) for one in wanted]).values():
        made.result(30)


def binding(acl: Acl) -> AclBinding:
    return AclBinding(
        RESOURCES[acl.resource],
        acl.name,
        ResourcePatternType[acl.pattern.upper()],
        f"User:{acl.role}",
        "*",
        OPERATIONS[acl.operation],
        AclPermissionType.ALLOW,
    )


@pytest.fixture(scope="session")
def settings(kafka: Secured, folder: Path) -> Environment:
    """The settings that a service needs to get in, by a password and a certificate."""
    return NAMED | {
        "VERDICT_BOOTSTRAP_SERVERS": kafka.both,
        "VERDICT_DATA_DIR": str(folder / "d"),
        "VERDICT_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "VERDICT_KAFKA_USER": KafkaPrincipal.DECIDER,
        "VERDICT_KAFKA_PASSWORD": PASSWORD,
        "VERDICT_KAFKA_CA_FILE": str(kafka.ca),
        "VERDICT_KAFKA_CERTIFICATE_FILE": str(kafka.mine.file),
        "VERDICT_KAFKA_KEY_FILE": str(kafka.mine.key),
        "VERDICT_KAFKA_KEY_PASSWORD": KEY_PASSWORD,
        "VERDICT_KAFKA": json.dumps({"ssl.keystore.password": f"{PLANTED} for librdkafka"}),
        "VERDICT_SPARK_KAFKA": json.dumps({"custom.setting": f"{PLANTED} for Spark"}),
    }


@pytest.fixture(scope="session")
def shown(settings: Environment, folder: Path) -> dict[str, str]:
    """All that a service behind Kafka's security shows in its life, by where it shows it."""
    return lived(settings, folder)
