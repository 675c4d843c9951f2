import pytest

from tests.application import APPLICATION
from verdict.model.command import Command, LifeCycle


def test_the_command_types_are_those_of_the_contract() -> None:
    assert set(APPLICATION.aggregate("enrolment").command_types) == {
        "EnrolParticipant", "ActivateParticipant", "DeactivateParticipant", "RecordLogin",
        "MoveParticipant",
    }  # fmt: skip
    assert set(APPLICATION.aggregate("order").command_types) == {
        "PlaceOrder", "ModifyOrder", "FillOrder", "CancelOrder", "DeleteOrder",
    }  # fmt: skip
    assert set(APPLICATION.aggregate("position").command_types) == {
        "OpenPosition", "AdjustPosition", "RelistPosition", "TransferPosition", "ClosePosition",
    }  # fmt: skip


def test_a_command_type_knows_its_aggregate() -> None:
    for aggregate_type in APPLICATION.aggregate_types:
        for command_type in APPLICATION.aggregate(aggregate_type).command_types.values():
            assert APPLICATION.aggregate_of(command_type) == aggregate_type


def test_the_error_about_a_command_type_without_aggregate_says_where_to_list_it() -> None:
    class StrayOrder(Command):
        pass

    with pytest.raises(
        LookupError, match="StrayOrder belongs to no aggregate of orders and invoices: add it"
    ):
        APPLICATION.aggregate_of(StrayOrder)


def test_a_command_starts_from_an_existing_aggregate_unless_it_says_otherwise() -> None:
    assert Command.starts_from == {LifeCycle.ACTIVE}
