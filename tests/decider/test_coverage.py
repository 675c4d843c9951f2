"""C-17: an aggregate that has decided stays in the application, and its state is never left out."""

from dataclasses import replace

import pytest

from tests.application import APPLICATION
from verdict.streaming.exactly_once.fencing import genesis
from verdict.streaming.exactly_once.query import decider_query
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics
from verdict.write_side.decider_query.known_aggregates import (
    MissingAggregateError,
    decided_aggregates,
    removed_aggregates,
    require_known_aggregates,
)

TOPICS = Topics(APPLICATION, prefix="covered.", partitions=2)


def progress(**commands: list[int]) -> ProgressRecord:
    """Return one that tells of the commands of these aggregates, besides those that there are."""
    first = genesis(decider_query(TOPICS, 1), None, {}, 1)
    offsets = {topic: [0, 0] for topic in TOPICS.every_commands()}
    told = {TOPICS.commands(name): of for name, of in commands.items()}
    return replace(first, offsets=offsets | told)


@pytest.mark.proves("C-17")
def test_an_aggregate_that_has_decided_and_is_gone_is_named() -> None:
    with pytest.raises(
        MissingAggregateError,
        match=r"has no aggregate label and no parcel, .*\(covered\.label\.commands up to \[0, 3\], "
        r"covered\.parcel\.commands up to \[1\]\): .*Run the version of the application",
    ):
        require_known_aggregates(
            progress(order=[7, 0], parcel=[1], label=[0, 3], never=[0, 0]), TOPICS
        )


def test_one_that_never_decided_may_go() -> None:
    without = progress(order=[7, 0], never=[0, 0])

    require_known_aggregates(without, TOPICS)
    assert removed_aggregates(without, TOPICS) == ["covered.never.commands"]
    assert removed_aggregates(progress(order=[7, 0]), TOPICS) == []


def test_a_decider_with_decided_commands_must_have_a_state() -> None:
    assert decided_aggregates(progress(order=[0, 1], gone=[1]), TOPICS) == {"order"}
    assert decided_aggregates(replace(progress(), offsets={}), TOPICS) == set()
