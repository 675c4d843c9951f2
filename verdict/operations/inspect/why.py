"""Why a command ended as it did: what it met, who was before it, what would have been let in."""

from functools import partial
from typing import Any

from verdict.adapters.sql.readers.reader import Reader
from verdict.model.application import Application
from verdict.model.policy import ACTOR
from verdict.model.reason import Reason
from verdict.operations.inspect.flow import cause_of, flow
from verdict.operations.inspect.history import Fields, inconsistency
from verdict.operations.inspect.queries import EVENTS_BETWEEN, OF_COMMAND, event, response, rows


def why(application: Application, reader: Reader, command_id: str) -> list[Fields]:
    """Return, of each record of a command, its `response` and why that is so.

    `cause` is the event because of which a policy sent it; `winners` are the events that its
    sender had not seen, each with the command that caused it; `events` its own; `instead` says what
    could be sent now; `inconsistency` where answer and events do not agree. It is empty when no
    such command was answered, as far as the read side has come.
    """
    found = [response(row) for row in rows(reader, OF_COMMAND, command_id=command_id)]
    return [_explained(application, reader, one) for one in found]


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
    """Return the event because of which a policy sent a command; None where it is not known."""
    if not (answered["actor"] or "").startswith(ACTOR):
        return None
    nodes, _ = flow(application, reader, answered["correlation_id"])
    return cause_of(nodes, answered["command_id"])


def instead(answered: Fields) -> str | None:
    """Return in words what would have been let in; None: it was accepted."""
    if answered["reason"] is None:
        return None
    reason, actual = Reason(answered["reason"]), answered["actual_version"]
    let_in = {
        Reason.VERSION_CONFLICT: f"expected_version {actual}, if the rules agree with what is now",
        Reason.ALREADY_EXISTS: f"expected_version {actual} or EXISTS, if it is not deleted",
        Reason.NOT_FOUND: "expected_version 0, NO_STREAM or ANY, for a command that creates it",
    }
    advice = reason.advice
    return f"{let_in[reason]}; {advice}" if reason in let_in else advice


def _unseen(answered: Fields) -> tuple[int | None, int | None]:
    """Return the versions between which lies what the sender of a refused command had not seen."""
    expected = answered["expected_version"]
    refused = answered["reason"] in (Reason.VERSION_CONFLICT, Reason.ALREADY_EXISTS)
    if not refused:
        return None, None
    return expected if isinstance(expected, int) else 0, answered["actual_version"]


def _between(
    application: Application, reader: Reader, of: Fields, after: int | None, to: int | None
) -> list[Any]:
    if after is None or to is None or after >= to:
        return []
    whose = {name: of[name] for name in ("aggregate_type", "aggregate_id")}
    found = rows(reader, EVENTS_BETWEEN, after=after, version=to, **whose)
    return [event(application, row) for row in found]
