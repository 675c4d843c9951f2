"""A flow as a tree of commands, events and policies; and why a command ended as it did."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from verdict.adapters.sql.readers.reader import Reader
from verdict.model.application import Application
from verdict.model.message import Fields
from verdict.model.policy import ACTOR, Policy, command_id
from verdict.model.reason import Reason
from verdict.operations.inspect.history import command_history, inconsistency
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
