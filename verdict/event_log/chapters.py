"""One aggregate's commands, outcomes and events put together, and what of them is nowhere. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from verdict.kafka.offsets import AnyOffsets, at
from verdict.model.source import Source

Fields = dict[str, Any]
Place = tuple[Any, ...]


def chapters(
    commands: Iterable[Fields], outcomes: Iterable[Fields], events: Iterable[Fields]
) -> Iterator[Fields]:
    """Yield one object per command, in the order of the verdicts, those without one at the end.

    Each has `command`, null when Kafka has dropped it, `response`, null when there is none, and
    `events`. Events whose outcome is nowhere come first: outcomes are lost from the oldest on.
    """
    by_place = {place_of(command): command for command in commands}
    caused: dict[Place, list[Fields]] = {}
    for event in events:
        caused.setdefault(place_of(event["source"]), []).append(event)
    told = [
        {
            "command": by_place.pop(place := place_of(response["source"]), None),
            "response": response,
            "events": caused.pop(place, []),
        }
        for response in outcomes
    ]
    for place, found in caused.items():
        yield {"command": by_place.pop(place, None), "response": None, "events": found}
    yield from told
    for command in by_place.values():
        yield {"command": command, "response": None, "events": []}


def with_ends(
    found: Iterable[Fields], letters: Iterable[Fields], decided: AnyOffsets
) -> list[Fields]:
    """Return chapters with what tells an end without a verdict from one that is still to come.

    Each has its dead `letter` besides, null when there is none, and `decided`, whether its end has
    been published. Letters whose command is not there come first: Kafka drops the oldest ones.

    Args:
        found: The chapters.
        letters: Those of the aggregate's commands.
        decided: The next offset that is not decided, by topic and partition.
    """
    by_place = {place_of(letter["source"]): letter for letter in letters}
    told = [one | {"letter": by_place.pop(_asked_at(one), None)} for one in found]
    dropped: Fields = {"command": None, "response": None, "events": []}
    told = [*(dropped | {"letter": letter} for letter in by_place.values()), *told]
    return [one | {"decided": _is_ended(one) or _is_before(decided, one)} for one in told]


def unended(found: Iterable[Fields]) -> list[Place]:
    """Return where the commands lie that are decided, and of which nothing tells how they ended."""
    return [_asked_at(one) for one in found if one["decided"] and not _is_ended(one)]


def reached(found: Iterable[Fields]) -> int:
    """Return the last version that the chapters of an aggregate know of."""
    known = [event["version"] for one in found for event in one["events"]]
    return max(known + [(one["response"] or {}).get("to_version") or 0 for one in found], default=0)


def nowhere(found: Sequence[Fields], explained: Collection[int] = ()) -> Iterator[str]:
    """Yield in words what the chapters of an aggregate lack, by what they say themselves.

    Args:
        found: The chapters.
        explained: Versions of which is said elsewhere why they are not there, or not believed.
    """
    versions = {event["version"] for one in found for event in one["events"]}
    if lacking := {*range(1, reached(found) + 1)} - versions - {*explained}:
        yield (
            f"events of the versions {in_ranges(lacking)} are not archived, nor in Kafka behind "
            "what is: `verdict verify` looks through all of it"
        )
    orphans = {
        event["version"] for one in found if one["response"] is None for event in one["events"]
    }
    if orphans:
        yield (
            f"the outcomes of the commands behind the versions {in_ranges(orphans)} are neither in "
            "SQL nor in Kafka"
        )


def doubt(answered: Fields, events: Iterable[Fields]) -> str | None:
    """Return in words where an answer and the events beside it do not agree; None: they do.

    Args:
        answered: Of a command.
        events: Of its aggregate, each with the `command_id` because of which it happened.
    """
    own = {one["version"] for one in events if one["command_id"] == answered["command_id"]}
    if answered["reason"] is not None:
        said = f"it caused the versions {in_ranges(own)} all the same" if own else None
    else:
        lacking = {*range(answered["from_version"] + 1, answered["to_version"] + 1)} - own
        said = f"its events of the versions {in_ranges(lacking)} are not archived (yet)"
        said = said if lacking else None
    return said and f"{said}: `verdict verify` holds answers and archive against Kafka"


def in_ranges(numbers: Iterable[int]) -> str:
    """Return numbers as people write them: `1-26, 30`."""
    ordered = enumerate(sorted(numbers))
    runs = ([n for _, n in run] for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0]))
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def place_of(record: Fields) -> Place:
    """Return where a record lies."""
    return record["topic"], record["partition"], record["offset"]


def _asked_at(chapter: Fields) -> Place:
    """Return where the command of a chapter lies, or lay."""
    if chapter["command"] is not None:
        return place_of(chapter["command"])
    return place_of((chapter["response"] or chapter["events"][0])["source"])


def _is_ended(chapter: Fields) -> bool:
    return bool(chapter["response"] or chapter["letter"] or chapter["events"])


def _is_before(decided: AnyOffsets, chapter: Fields) -> bool:
    place = Source(*_asked_at(chapter))
    return place.offset < at(decided, place)
