"""A flow as a tree: commands, what each caused, and what policies asked for because of it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from verdict.adapters.sql.readers.reader import Reader
from verdict.model.application import Application
from verdict.model.policy import Policy, command_id
from verdict.operations.inspect.history import Fields, command_history, inconsistency
from verdict.operations.inspect.queries import EVENTS_OF_FLOW, MOST, OF_FLOW, event, response, some


def flow(
    application: Application, reader: Reader, correlation_id: str, most: int = MOST
) -> tuple[list[Fields], bool]:
    """Return the commands of a flow that nothing in it asked for, the others below their causes.

    And whether there are more commands or events than are told. Each has `response` (null when
    that is nowhere), `policy` (who asked for it), `events`, each with the commands that were
    `asked` because of it, and `inconsistency`, where answer and events do not agree. Refused ones
    and repetitions are among them.
    """
    outcomes, more = some(reader, OF_FLOW, most, correlation_id=correlation_id)
    events, more_events = some(reader, EVENTS_OF_FLOW, most, correlation_id=correlation_id)
    told = [*command_history(map(response, outcomes), map(partial(event, application), events))]
    if not more_events:  # else some are only not shown
        told = [one | {"doubt": _doubt(one)} for one in told]
    return tree(told, application.policies), more or more_events


def lacks(nodes: Iterable[Fields]) -> bool:
    """Return whether a tree lacks an answer, or events that an answer tells of."""
    return any(
        node["response"] is None
        or node["doubt"] is not None
        or any(lacks(event["asked"]) for event in node["events"])
        for node in nodes
    )


def tree(told: Sequence[Fields], policies: Sequence[Policy]) -> list[Fields]:
    """Return chapters, each below the event because of which a policy asked for it; pure.

    The id of such a command is made of the policy's name and the event's id, so nothing else has to
    be known, and a refused one has its place too.
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
    if answered is None or answered["duplicate"]:  # the events are of who was answered first
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
