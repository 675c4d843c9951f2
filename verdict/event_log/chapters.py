"""One aggregate's commands, outcomes and events put together, and what of them is nowhere. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

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
        yield f"events of the versions {in_ranges(lacking)} are neither archived nor in Kafka"
    orphans = {
        event["version"] for one in found if one["response"] is None for event in one["events"]
    }
    if orphans:
        yield (
            f"the outcomes of the commands behind the versions {in_ranges(orphans)} are neither in "
            "SQL nor in Kafka"
        )


def in_ranges(numbers: Iterable[int]) -> str:
    """Return numbers as people write them: `1-26, 30`."""
    ordered = enumerate(sorted(numbers))
    runs = ([n for _, n in run] for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0]))
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def place_of(record: Fields) -> Place:
    """Return where a record lies."""
    return record["topic"], record["partition"], record["offset"]
