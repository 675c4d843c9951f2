"""Commands with their events, as a history or as a flow, and why one ended as it did."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from verdict.adapters.sql.readers.reader import Reader
from verdict.model.application import Application
from verdict.model.message import Fields
from verdict.model.policy import ACTOR, Policy, command_id
from verdict.model.reason import Reason
from verdict.operations.inspect.queries import (
    EVENTS_BETWEEN,
    EVENTS_OF_FLOW,
    MOST,
    OF_COMMAND,
    OF_FLOW,
    event,
    response,
    rows,
    some,
)

RecordKey = tuple[Any, ...]


def command_history(outcomes: Iterable[Fields], events: Iterable[Fields]) -> Iterator[Fields]:
    """Yield one object per command: its `response`, null when that is missing, and its `events`.

    They are in the order of the outcomes. Events without an outcome come first, because outcomes
    are lost from the oldest on.
    """
    caused: dict[RecordKey, list[Fields]] = {}
    for one in events:
        caused.setdefault(place_of(one["source"]), []).append(one)
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


def flow(
    application: Application, reader: Reader, correlation_id: str, most: int = MOST
) -> tuple[list[Fields], bool]:
    """Return the commands that started a flow, the others below them, and if there are more.

    Each has its `response` (null if it is missing), its `policy`, its `events`, each with the
    commands that policies `asked` for, and a `doubt` if outcome and events do not agree.
    """
    outcomes, more = some(reader, OF_FLOW, most, correlation_id=correlation_id)
    events, more_events = some(reader, EVENTS_OF_FLOW, most, correlation_id=correlation_id)
    told = [*command_history(map(response, outcomes), map(partial(event, application), events))]
    if not more_events:  # else some are only not shown
        told = [one | {"doubt": _doubt(one)} for one in told]
    return tree(told, application.policies), more or more_events


def lacks(nodes: Iterable[Fields]) -> bool:
    """Tell whether a tree lacks an outcome, or events that an outcome names."""
    return any(
        node["response"] is None
        or node["doubt"] is not None
        or any(lacks(event["asked"]) for event in node["events"])
        for node in nodes
    )


def tree(told: Sequence[Fields], policies: Sequence[Policy]) -> list[Fields]:
    """Return commands, each below the event because of which a policy sent it; pure.

    The command's id follows from the policy's name and the event's id.
    """
    by_id: dict[str, list[Fields]] = {}
    nodes = [_node(chapter) for chapter in told]
    for node in nodes:
        by_id.setdefault(node["command_id"], []).append(node)
    for cause in (one for node in nodes for one in node["events"]):
        for name, asked in _asked(cause, policies, by_id):
            asked["policy"] = name
            cause["asked"].append(asked)
    return [node for node in nodes if node["policy"] is None]


def cause_of(nodes: Iterable[Fields], command_id: str) -> Fields | None:
    """Return the event in a tree because of which a policy sent a command; pure."""
    for cause in (one for node in nodes for one in node["events"]):
        if any(asked["command_id"] == command_id for asked in cause["asked"]):
            return {name: value for name, value in cause.items() if name != "asked"}
        if (found := cause_of(cause["asked"], command_id)) is not None:
            return found
    return None


def why(application: Application, reader: Reader, command_id: str) -> list[Fields]:
    """Return the `response` to each record of a command, and why it is so.

    `cause` is the event because of which a policy sent it, `winners` are the events that its sender
    had not seen, `events` its own. `instead` says what could be sent now, `doubt` where outcome and
    events do not agree. It is empty if the read side knows no outcome of the command.
    """
    found = [response(row) for row in rows(reader, OF_COMMAND, command_id=command_id)]
    return [_explained(application, reader, one) for one in found]


def _node(chapter: Fields) -> Fields:
    about = chapter["response"] or chapter["events"][0]
    events = [one | {"asked": []} for one in chapter["events"]]
    return {
        "command_id": about["command_id"],
        "policy": None,
        "response": chapter["response"],
        "doubt": chapter.get("doubt"),
        "events": events,
    }


def _doubt(chapter: Fields) -> str | None:
    answered = chapter["response"]
    if answered is None or answered["duplicate"]:  # the events are of the first one
        return None
    return inconsistency(answered, chapter["events"])


def _asked(
    cause: Fields, policies: Iterable[Policy], by_id: dict[str, list[Fields]]
) -> Iterator[tuple[str, Fields]]:
    for policy in policies:
        if cause["aggregate_type"] in policy.follows:
            index = 0
            while found := by_id.get(command_id(policy.name, cause["event_id"], index)):
                yield from ((policy.name, one) for one in found)
                index += 1


def _explained(application: Application, reader: Reader, answered: Fields) -> Fields:
    refused = answered["reason"] is not None
    between = partial(_between, application, reader, answered)
    winners = between(*_unseen(answered))
    events = between(answered["from_version"], answered["to_version"])
    return {
        "response": answered,
        "met_version": answered["actual_version" if refused else "from_version"],
        "doubt": inconsistency(answered, [*winners, *events]),
        "cause": _cause(application, reader, answered),
        "winners": winners,
        "events": events,
        "instead": instead(answered),
    }


def _cause(application: Application, reader: Reader, answered: Fields) -> Fields | None:
    """Return the event because of which a policy sent a command, if it is known."""
    if not (answered["actor"] or "").startswith(ACTOR):
        return None
    nodes, _ = flow(application, reader, answered["correlation_id"])
    return cause_of(nodes, answered["command_id"])


def instead(answered: Fields) -> str | None:
    """Return what would have been accepted; None if the command was."""
    if answered["reason"] is None:
        return None
    reason, actual = Reason(answered["reason"]), answered["actual_version"]
    expected = {
        Reason.VERSION_CONFLICT: f"expected_version {actual}, if the rules agree with what is now",
        Reason.ALREADY_EXISTS: f"expected_version {actual} or EXISTS, if it is not deleted",
        Reason.NOT_FOUND: "expected_version 0, NO_STREAM or ANY, for a command that creates it",
    }
    advice = reason.advice
    return f"{expected[reason]}; {advice}" if reason in expected else advice


def _unseen(answered: Fields) -> tuple[int | None, int | None]:
    """Return the versions between which the events are that a rejected sender had not seen."""
    expected = answered["expected_version"]
    refused = answered["reason"] in (Reason.VERSION_CONFLICT, Reason.ALREADY_EXISTS)
    if not refused:
        return None, None
    return expected if isinstance(expected, int) else 0, answered["actual_version"]


def _between(
    application: Application, reader: Reader, of: Fields, after: int | None, to: int | None
) -> list[Fields]:
    if after is None or to is None or after >= to:
        return []
    whose = {name: of[name] for name in ("aggregate_type", "aggregate_id")}
    found = rows(reader, EVENTS_BETWEEN, after=after, version=to, **whose)
    return [event(application, row) for row in found]
