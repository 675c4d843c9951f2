"""The rules of section 2 over plain dictionaries: what commands cause and what events do."""

from collections.abc import Mapping
from typing import Any

from tests.model.fields import LARGEST_LONG

State = dict[str, Any]
Asked = Mapping[str, Any]
Happened = tuple[str, dict[str, Any]]


ALWAYS = {  # whatever the state, once the life cycle lets them through
    "PlaceOrder": "OrderPlaced",
    "DeleteOrder": "OrderDeleted",
    "OpenPosition": "PositionOpened",
    "ClosePosition": "PositionClosed",
    "EnrolParticipant": "ParticipantEnrolled",
    "RecordLogin": "LoginRecorded",
}


class BrokenError(Exception):  # an answer, not an error
    """A business rule forbids the command."""


def starts_from(command_type: str) -> set[str]:
    """Return the life-cycle states in which a command may find its aggregate."""
    creating = {
        "EnrolParticipant": {"NONE"},
        "PlaceOrder": {"NONE"},
        "RecordInvoice": {"NONE"},
        "AwardPoints": {"NONE", "ACTIVE"},
        "OpenPosition": {"NONE", "DELETED"},
    }
    return creating.get(command_type, {"ACTIVE"})


def events_of(command: Asked, state: State | None) -> list[Happened]:
    """Return the (type, fields) of the events that a command causes."""
    asked = {name: value for name, value in command.items() if name != "type"}
    match command["type"], state:
        case str(always), _ if always in ALWAYS:
            return [(ALWAYS[always], asked)]
        case "RecordInvoice", _:
            return _recorded(asked)
        case "AwardPoints", account:
            before = (account or {}).get("total_points_hundredths", 0)
            return _awarded(asked, before + asked["points_hundredths"])
        case ("ActivateParticipant" | "DeactivateParticipant") as kind, dict(enrolment):
            return _switched(enrolment, active=kind == "ActivateParticipant")
        case (("ModifyOrder" | "FillOrder" | "CancelOrder"), {"status": "completed" | "cancelled"}):
            raise BrokenError("nothing but Delete after completed or cancelled")
        case "ModifyOrder", dict(order):
            return _modified(order, asked)
        case "FillOrder", dict(order):
            return _filled(order, asked)
        case "CancelOrder", _:
            return [("OrderCancelled", {"cause": asked.get("cause")})]
        case _, dict(position):
            return _changed(position, command["type"], asked)
        case _:
            raise AssertionError(f"{command['type']} was let through to no aggregate")


def _modified(order: State, asked: Asked) -> list[Happened]:
    wanted = {name: asked.get(name, order[name]) for name in ("quantity", "limit_price_cents")}
    if wanted["quantity"] < order["filled"]:
        raise BrokenError("never modify to less than is filled")
    if all(order[name] == value for name, value in wanted.items()):
        return []
    completed = wanted["quantity"] == order["filled"]
    return [("OrderModified", wanted)] + [("OrderCompleted", {})] * completed


def _filled(order: State, asked: Asked) -> list[Happened]:
    filled = order["filled"] + asked["quantity"]
    if filled > order["quantity"]:
        raise BrokenError("never fill more than is open")
    happened: list[Happened] = [("OrderFilled", dict(asked))]
    return happened + [("OrderCompleted", {})] * (filled == order["quantity"])


def _recorded(asked: Asked) -> list[Happened]:
    home = asked["delivery_type"].upper() == "HOME-DELIVERY"
    if home and asked.get("delivery_address") is None:
        raise BrokenError("a home delivery needs an address")
    return [("InvoiceRecorded", dict(asked))]


def _awarded(asked: Asked, total: int) -> list[Happened]:
    if total > LARGEST_LONG:
        raise BrokenError("the total would not fit")
    return [("PointsAwarded", dict(asked) | {"total_points_hundredths": total})]


def _switched(enrolment: State, active: bool) -> list[Happened]:
    if enrolment["active"] == active:
        return []
    return [("ParticipantActivated" if active else "ParticipantDeactivated", {})]


def _changed(position: State, command_type: str, asked: Asked) -> list[Happened]:
    events = {
        "AdjustPosition": "PositionAdjusted",
        "RelistPosition": "PositionRelisted",
        "TransferPosition": "PositionTransferred",
        "MoveParticipant": "ParticipantMoved",
    }
    same = all(position[name] == value for name, value in asked.items())
    return [] if same else [(events[command_type], dict(asked))]


def state_after(state: State | None, event_type: str, fields: Mapping[str, Any]) -> State | None:
    """Return an aggregate after an event; None when it was deleted."""
    before = state or {}
    match event_type:
        case "OrderPlaced":
            return {**fields, "filled": 0, "status": "open"}
        case "ParticipantEnrolled":
            return {**fields, "active": True}
        case "ParticipantActivated" | "ParticipantDeactivated":
            return before | {"active": event_type == "ParticipantActivated"}
        case "LoginRecorded":
            return before
        case "OrderFilled":
            return before | {"filled": before["filled"] + fields["quantity"]}
        case "OrderCompleted":
            return before | {"status": "completed"}
        case "OrderCancelled":
            return before | {"status": "cancelled"}
        case "OrderDeleted" | "PositionClosed":
            return None
        case _:  # opened, and everything that replaces fields by those of the event
            return before | dict(fields)
