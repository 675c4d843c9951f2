"""Waiting for what is behind: first the decider, then the read side, by their own positions."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from compose.demo.story import Story
from verdict import Settings
from verdict.kafka.log import KafkaLog
from verdict.projection.declared import projections
from verdict.reactions.query import reactions_of
from verdict.standing.markers import decider_marker, reactions_marker
from verdict.wire.marker import Marker

Place = tuple[str, int]
ReadMarker = Callable[[Settings], Marker | None]
Reached = Mapping[tuple[str, str, int], int]  # (projection, topic, partition) → next offset


def settle(story: Story) -> None:
    """Return when every command that is there is decided, and the views show it.

    Raises:
        TimedOut: It takes too long.
        VerdictError: A part of the application stopped.
    """
    _settle_decider(story)
    await_views(story)


def _settle_decider(story: Story) -> None:
    wanted = ends(story.log, story.topics.every_commands())
    _await_marker(story, decider_marker, wanted, "the decider's marker behind the last command")


def _await_marker(story: Story, read: ReadMarker, wanted: Mapping[Place, int], what: str) -> None:
    def offsets() -> Mapping[str, Sequence[int]]:
        marker = read(story.running.settings)
        return marker.offsets if marker else {}

    def reached() -> bool:
        found = offsets()
        return all(
            number < len(found.get(topic, ())) and found[topic][number] >= end
            for (topic, number), end in wanted.items()
        )

    story.wait_until(reached, what, progress=lambda: sum(map(sum, offsets().values())))


def settle_reactions(story: Story) -> None:
    """Return when all that follows from what is there has happened, and the views show it.

    What the reactions ask for is decided, and what comes of that they react to in turn.

    Raises:
        TimedOut: It takes too long.
        VerdictError: A part of the application stopped.
    """
    reactions = reactions_of(story.running.settings)
    before: Mapping[Place, int] = {}
    while (now := ends(story.log, reactions.inputs)) != before:
        before = now
        _await_marker(story, reactions_marker, now, "the reactions' marker behind the last record")
        _settle_decider(story)
    await_views(story)


def await_views(story: Story) -> None:
    """Return when every projection has applied what lies on the topics that it follows now.

    Raises:
        TimedOut: It takes too long.
        VerdictError: A part of the application stopped.
    """
    read_models = projections(story.running.settings.chosen)
    followed = {model.name: model.topics(story.topics) for model in read_models}
    targets = ends(story.log, {topic for topics in followed.values() for topic in topics})
    wanted = {
        (name, topic, number): end
        for name, topics in followed.items()
        for (topic, number), end in targets.items()
        if topic in topics and end
    }
    story.wait_until(
        lambda: not behind(wanted, reached(story)),
        "the read side's position behind the last record",
        progress=lambda: sum(reached(story).values()),
    )


def reached(story: Story) -> Reached:
    """Return how far each projection has come."""
    rows = story.select(
        "SELECT projection, topic, partition, next_offset FROM projection_position"
    ).rows
    return {(name, topic, number): offset for name, topic, number, offset in rows}


def behind(wanted: Reached, positions: Reached) -> list[tuple[str, str, int]]:
    """Return which projections have not come far enough, and where."""
    return [place for place, end in wanted.items() if positions.get(place, 0) < end]


def ends(log: KafkaLog, topics: Iterable[str]) -> dict[Place, int]:
    """Return the offset behind the last committed record of every partition."""
    return {
        (topic, number): log.bounds(topic, number)[1]
        for topic in sorted(topics)
        for number in range(log.partitions(topic))
    }
