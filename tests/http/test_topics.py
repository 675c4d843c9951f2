"""Topics and schemas on the page, and what differs."""

from tests.application import APPLICATION
from tests.http.conftest import Opened
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.topics import Topics

HTML = {"accept": "text/html"}


def test_topics_and_their_schemas_are_shown_though_kafka_is_away(opened: Opened) -> None:
    shown = opened().browser.get("/topics", headers=HTML).text

    assert "order.commands" in shown
    assert "order_event v" in shown
    assert "the topics of Kafka are unknown" in shown


def test_a_topic_that_is_missing_is_named(opened: Opened, broker: EmbeddedBroker) -> None:
    page = opened(bootstrap_servers=broker.bootstrap_servers, topic_prefix="the-page.")

    assert "the-page.order.commands: " in page.browser.get("/topics", headers=HTML).text


def test_all_is_well_where_kafka_has_what_it_must(opened: Opened, broker: EmbeddedBroker) -> None:
    page = opened(bootstrap_servers=broker.bootstrap_servers, topic_prefix="whole-page.")
    options = {"bootstrap.servers": broker.bootstrap_servers}
    TopicAdmin(options, Topics(APPLICATION, prefix="whole-page.")).create_missing()

    assert (
        "Topics and schemas are as they must be" in page.browser.get("/topics", headers=HTML).text
    )
