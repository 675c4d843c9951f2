"""U-04: the topics as AsyncAPI tells them are those that there are."""

from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.application import APPLICATION, newest
from tests.http.conftest import Page
from verdict.adapters.kafka.schema_registry import every_subject
from verdict.wire.topics import Topics


@pytest.fixture
def told(page: Page) -> Any:
    return yaml.safe_load(page.browser.get("/asyncapi.yaml").text)


@pytest.mark.proves("U-04")
def test_every_topic_is_listed_with_its_settings(told: Any) -> None:
    kafka = {name: one["bindings"]["kafka"] for name, one in told["channels"].items()}

    assert told["asyncapi"] == "3.0.0"
    assert {name: one["partitions"] for name, one in kafka.items()} == {
        topic.name: topic.partitions for topic in Topics(APPLICATION).all()
    }
    for topic in Topics(APPLICATION).all():
        for name, value in kafka[topic.name]["topicConfiguration"].items():
            said = ",".join(value) if isinstance(value, list) else str(value)
            assert said == topic.settings[name]


@pytest.mark.proves("U-04")
def test_what_is_on_a_topic_is_what_it_is_written_with(told: Any) -> None:
    messages = told["components"]["messages"]
    held = {name: [*one["messages"]] for name, one in told["channels"].items() if one["messages"]}

    assert {f"{name}-value" for name in held} == {
        one.subject for one in every_subject(Topics(APPLICATION))
    }
    assert held["order.events"] == ["order_event"]
    assert {*messages} == {name for names in held.values() for name in names}
    for name, message in messages.items():
        assert message["payload"]["schema"] == newest(name).schema


def test_senders_and_receivers_are_listed(told: Any) -> None:
    actions = {name: one["action"] for name, one in told["operations"].items()}

    assert {*actions} == {*told["channels"]}
    assert (actions["order.commands"], actions["order.events"]) == ("receive", "send")
