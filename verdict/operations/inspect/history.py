"""One aggregate's outcomes and events put together, and what is missing of them. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from verdict.model.message import Fields

RecordKey = tuple[Any, ...]


def command_history(outcomes: Iterable[Fields], events: Iterable[Fields]) -> Iterator[Fields]:
    """Yield one object per command: its `response`, null when that is missing, and its `events`.

    They are in the order of the outcomes. Events without an outcome come first, because outcomes
    are lost from the oldest on.
    """
    caused: dict[RecordKey, list[Fields]] = {}
    for event in events:
        caused.setdefault(place_of(event["source"]), []).append(event)
    told = [
        {"response": response, "events": caused.pop(place_of(response["source"]), [])}
        for response in outcomes
    ]
    yield from ({"response": None, "events": found} for found in caused.values())
    yield from told


def reached_offsets(found: Iterable[Fields]) -> int:
    """Return the last version that the chapters of an aggregate know of."""
    known = [event["version"] for one in found for event in one["events"]]
    return max(known + [(one["response"] or {}).get("to_version") or 0 for one in found], default=0)


def missing(found: Sequence[Fields], explained: Collection[int] = ()) -> Iterator[str]:
    """Yield what the whole history of an aggregate lacks, as its own records say."""
    versions = {event["version"] for one in found for event in one["events"]}
    last = max((*versions, *explained), default=0)
    lacking = {*range(1, reached_offsets(found) + 1)} - versions - {*explained}
    if gaps := {version for version in lacking if version < last}:
        yield (
            f"the versions {in_ranges(gaps)} are missing in the archive: `verdict verify` compares "
            "it with Kafka"
        )
    if later := lacking - gaps:
        yield (
            f"the versions {in_ranges(later)}, which outcomes name, are not in the archive (yet): "
            "`verdict status` shows how far it is behind"
        )
    orphans = {
        event["version"] for one in found if one["response"] is None for event in one["events"]
    }
    if orphans:
        yield (
            f"the outcomes of the commands that caused the versions {in_ranges(orphans)} are not "
            "in the view `outcome` (yet)"
        )


def inconsistency(answered: Fields, events: Iterable[Fields]) -> str | None:
    """Return where an outcome and its events do not agree, if they do not."""
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


def place_of(record: Fields) -> RecordKey:
    """Return the position of a record."""
    return record["topic"], record["partition"], record["offset"]
