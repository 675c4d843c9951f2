"""U-04: topics and schemas on the page and as AsyncAPI, and what differs."""

from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.application import APPLICATION, newest
from tests.http.conftest import Opened, Page
from verdict.adapters.kafka.schema_registry import every_subject
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.topics import Topics

HTML = {"accept": "text/html"}


def test_topics_and_their_schemas_are_shown_though_kafka_is_away(page: Page) -> None:
    shown = page.browser.get("/topics", headers=HTML).text

    assert "order.commands" in shown
    assert "order_event v" in shown
    assert "the topics of Kafka are unknown" in shown


def test_a_missing_topic_is_named_until_it_is_made(opened: Opened, broker: EmbeddedBroker) -> None:
    servers = broker.bootstrap_servers
    browser = opened(bootstrap_servers=servers, topic_prefix="the-page.").browser
    before = browser.get("/topics", headers=HTML).text
    TopicAdmin(
        {"bootstrap.servers": servers}, Topics(APPLICATION, prefix="the-page.")
    ).create_missing()

    assert "the-page.order.commands: " in before
    after = browser.get("/topics", headers=HTML).text
    assert "Topics and schemas are as they must be" in after


@pytest.fixture
def asyncapi(page: Page) -> Any:
    return yaml.safe_load(page.browser.get("/asyncapi.yaml").text)


@pytest.mark.proves("U-04")
def test_every_topic_is_listed_with_its_settings_and_who_writes_it(asyncapi: Any) -> None:
    kafka = {name: one["bindings"]["kafka"] for name, one in asyncapi["channels"].items()}
    topics = {topic.name: topic for topic in Topics(APPLICATION).all()}
    actions = {name: one["action"] for name, one in asyncapi["operations"].items()}

    assert asyncapi["asyncapi"] == "3.0.0"
    assert {name: one["partitions"] for name, one in kafka.items()} == {
        name: topic.partitions for name, topic in topics.items()
    }
    for name, topic in topics.items():
        for setting, value in kafka[name]["topicConfiguration"].items():
            shown = ",".join(value) if isinstance(value, list) else str(value)
            assert shown == topic.settings[setting]
    assert actions.keys() == topics.keys()
    assert (actions["order.commands"], actions["order.events"]) == ("receive", "send")


@pytest.mark.proves("U-04")
def test_records_of_a_topic_are_described_by_their_schema(asyncapi: Any) -> None:
    messages = asyncapi["components"]["messages"]
    held = {name: [*one["messages"]] for name, one in asyncapi["channels"].items()}

    assert {f"{name}-value" for name, names in held.items() if names} == {
        one.subject for one in every_subject(Topics(APPLICATION))
    }
    assert held["order.events"] == ["order_event"]
    assert {*messages} == {name for names in held.values() for name in names}
    for name, message in messages.items():
        assert message["payload"]["schema"] == newest(name).schema
