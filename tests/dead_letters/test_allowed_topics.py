"""Where letters may go; no Kafka is needed to say it."""

import pytest

from tests.application import APPLICATION
from verdict.reactions.dead_letters.allowed_topics import AllowedTopics
from verdict.wire.topics import Topics

TOPICS = Topics(APPLICATION, "shop", "eu.")
THERE = {
    *(topic.name for topic in TOPICS.all()),
    *(topic.name for topic in Topics(APPLICATION, "other", "us.").all()),
    *(topic.name for topic in Topics(APPLICATION).all()),
    "parcels", "bills", "parcels.late", "__consumer_offsets", "shop.progress",
}  # fmt: skip


def problem(topic: str, *allowed: str) -> str | None:
    return AllowedTopics(TOPICS, allowed, lambda: THERE).problem_with(topic)


@pytest.mark.parametrize("topic", [*TOPICS.every_commands(), TOPICS.retry, TOPICS.named("POS")])
def test_where_verdict_takes_things_in_letters_may_go(topic: str) -> None:
    assert problem(topic) is None


@pytest.mark.parametrize("allowed", ["parcels", "parcel*", "*"])
def test_where_the_setting_says_letters_may_go(allowed: str) -> None:
    assert problem("parcels", allowed) is None


@pytest.mark.proves("R-09")
@pytest.mark.parametrize("allowed", [(), ("bills",), ("bill*",), ("parcels.late",)])
def test_anything_else_is_closed_and_the_way_to_open_it_is_said(allowed: tuple[str, ...]) -> None:
    said = problem("parcels", *allowed)

    assert said is not None
    assert "dead letters may go to eu.POS, eu.enrolment.commands, " in said
    assert "the setting retry_topics says: add it there and start again" in said


@pytest.mark.proves("R-09")
@pytest.mark.parametrize(
    "topic",
    [
        TOPICS.events("order"), TOPICS.responses("order"), TOPICS.rejected("order"),
        TOPICS.dead_letters, TOPICS.progress, TOPICS.skips, TOPICS.owners, "__consumer_offsets",
        "us.order.commands", "us.order.events", "us.other.progress", "us.dead-letters",
        "order.commands", "dead-letters", "verdict.progress",
        TOPICS.named("shipment"), TOPICS.named("share-holders"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("with_its_name", [False, True])
def test_no_setting_allows_topics_of_verdict_or_of_another_deployment(
    topic: str, with_its_name: bool
) -> None:
    said = problem(topic, *([topic] if with_its_name else ["*"]))

    assert said is not None
    assert "never take dead letters" in said


def test_a_topic_that_is_open_and_not_there_is_said_to_be_missing() -> None:
    assert "there is no such topic" in (problem("letters", "*") or "")
