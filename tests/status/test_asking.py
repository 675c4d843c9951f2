"""What is asked of a real Kafka, and said of it, whether a service runs or not."""

from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide two of them
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.application import APPLICATION
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.operations.status.collect import get_status
from verdict.operations.status.status import Problem
from verdict.settings.load import settings_alone


@pytest.mark.proves("U-02")
def test_a_topic_that_somebody_let_forget_is_named_before_it_has(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    settings = settings_alone(
        APPLICATION,
        bootstrap_servers=servers,
        data_dir=tmp_path,
        topic_prefix="forgets.",
        partitions=1,
    )
    assert not said_of_topics(get_status(settings).problems), "none is there"
    check = TopicAdmin({"bootstrap.servers": servers}, settings.topics)
    check.create_missing()
    assert not said_of_topics(get_status(settings).problems)

    forget(servers, "forgets.order.events")
    while not check.differences():
        pass  # the broker answers with it a moment later

    [said] = said_of_topics(get_status(settings).problems)
    assert "forgets.order.events: retention.ms is 1000, must be -1" in said
    assert said.part == "", "commands are decided all the same"


def forget(servers: str, topic: str) -> None:
    """Let Kafka drop what is older than a second."""
    short = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[short])
    admin = AdminClient({"bootstrap.servers": servers})
    [answer] = admin.incremental_alter_configs([changed]).values()
    answer.result(30)


def said_of_topics(problems: tuple[Problem, ...]) -> list[Problem]:
    return [one for one in problems if "must be" in one]
