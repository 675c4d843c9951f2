"""U-04: the AsyncAPI document has the topics, their settings and their records."""

from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.application import APPLICATION, newest
from tests.http.conftest import Page
from verdict.adapters.kafka.schema_registry import every_subject
from verdict.wire.topics import Topics


@pytest.fixture
def document(page: Page) -> Any:
    return yaml.safe_load(page.browser.get("/asyncapi.yaml").text)


@pytest.mark.proves("U-04")
def test_every_topic_is_listed_with_its_settings_and_who_writes_it(document: Any) -> None:
    kafka = {name: one["bindings"]["kafka"] for name, one in document["channels"].items()}
    topics = {topic.name: topic for topic in Topics(APPLICATION).all()}
    actions = {name: one["action"] for name, one in document["operations"].items()}

    assert document["asyncapi"] == "3.0.0"
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
def test_records_of_a_topic_are_described_by_their_schema(document: Any) -> None:
    messages = document["components"]["messages"]
    held = {name: [*one["messages"]] for name, one in document["channels"].items()}

    assert {f"{name}-value" for name, names in held.items() if names} == {
        one.subject for one in every_subject(Topics(APPLICATION))
    }
    assert held["order.events"] == ["order_event"]
    assert {*messages} == {name for names in held.values() for name in names}
    for name, message in messages.items():
        assert message["payload"]["schema"] == newest(name).schema
