"""Partitions that somebody added to many topics are one sentence, after what needs attention."""

from verdict.adapters.kafka.topic_drift import MISSING, Difference, added_partitions
from verdict.operations.status.collect import _added, _unlike


def test_topics_with_added_partitions_are_named_together() -> None:
    found = [one for topic in ("a.events", "b.events") for one in added_partitions(topic, 6, 4)]

    [said] = _added(found)

    assert said.startswith(
        "somebody added partitions to 2 topics: a.events (6 instead of 4), b.events (6 instead of "
        "4): verdict writes to the first ones only"
    )
    assert [*_unlike(found)] == []


def test_one_topic_is_named_alone_and_what_is_fatal_as_before() -> None:
    added = added_partitions("a.events", 6, 4)
    short = Difference("b.events", "retention.ms", "1", "-1")
    missing = Difference("c.events", MISSING, "missing", "there")

    assert [*_added([*added, short])] == [str(added[0])]
    assert [*_added([short, missing])] == []
    assert [one.partition(":")[0] for one in _unlike([*added, short, missing])] == ["b.events"]
