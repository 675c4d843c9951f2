import pytest

from verdict.application import UnknownAggregate, current
from verdict.model.command import Command
from verdict.model.life_cycle import LifeCycle


def test_the_command_types_are_those_of_the_contract() -> None:
    assert set(current().aggregate("enrolment").command_types) == {
        "EnrolParticipant", "ActivateParticipant", "DeactivateParticipant", "RecordLogin",
        "MoveParticipant",
    }  # fmt: skip
    assert set(current().aggregate("order").command_types) == {
        "PlaceOrder", "ModifyOrder", "FillOrder", "CancelOrder", "DeleteOrder",
    }  # fmt: skip
    assert set(current().aggregate("position").command_types) == {
        "OpenPosition", "AdjustPosition", "RelistPosition", "TransferPosition", "ClosePosition",
    }  # fmt: skip


def test_a_command_type_knows_its_aggregate() -> None:
    for aggregate_type in current().aggregate_types:
        for command_type in current().aggregate(aggregate_type).command_types.values():
            assert current().aggregate_of(command_type) == aggregate_type


def test_a_command_type_of_no_aggregate_is_told_where_to_list_it() -> None:
    class StrayOrder(Command):
        pass

    with pytest.raises(
        LookupError, match="StrayOrder belongs to no aggregate of orders and invoices: add it"
    ):
        current().aggregate_of(StrayOrder)


def test_an_unknown_aggregate_has_no_commands() -> None:
    with pytest.raises(UnknownAggregate, match="no aggregate 'car'"):
        current().aggregate("car")


def test_a_command_starts_from_an_existing_aggregate_unless_it_says_otherwise() -> None:
    assert Command.starts_from == {LifeCycle.ACTIVE}
