import pytest

from verdict.model.catalogue import aggregate_of, command_types
from verdict.model.command import Command
from verdict.model.life_cycle import LifeCycle
from verdict.model.registry import UnknownAggregate, aggregate_types


def test_the_command_types_are_those_of_the_contract() -> None:
    assert set(command_types("enrolment")) == {
        "EnrolParticipant", "ActivateParticipant", "DeactivateParticipant", "RecordLogin",
        "MoveParticipant",
    }  # fmt: skip
    assert set(command_types("order")) == {
        "PlaceOrder", "ModifyOrder", "FillOrder", "CancelOrder", "DeleteOrder",
    }  # fmt: skip
    assert set(command_types("position")) == {
        "OpenPosition", "AdjustPosition", "RelistPosition", "TransferPosition", "ClosePosition",
    }  # fmt: skip


def test_a_command_type_knows_its_aggregate() -> None:
    for aggregate_type in aggregate_types():
        for command_type in command_types(aggregate_type).values():
            assert aggregate_of(command_type) == aggregate_type


def test_a_command_type_of_no_aggregate_is_told_where_to_list_it() -> None:
    class StrayOrder(Command):
        pass

    with pytest.raises(LookupError, match="StrayOrder belongs to no aggregate: add it to"):
        aggregate_of(StrayOrder)


def test_an_unknown_aggregate_has_no_commands() -> None:
    with pytest.raises(UnknownAggregate, match="no aggregate 'car'"):
        command_types("car")


def test_a_command_starts_from_an_existing_aggregate_unless_it_says_otherwise() -> None:
    assert Command.starts_from == {LifeCycle.ACTIVE}
