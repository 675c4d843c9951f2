"""A copy of a message is pydantic's own, made faster."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from aggregates.order import Order
from tests.wire.arbitrary import AGGREGATES, commands
from verdict.model.command import Command

SLOW = BaseModel.model_copy


@given(AGGREGATES.flatmap(commands), st.booleans())
def test_a_copy_is_what_pydantic_makes(command: Command, deep: bool) -> None:
    copied = command.model_copy(deep=deep)

    assert (copied, copied.model_fields_set) == (command, command.model_fields_set)
    assert copied is not command


@given(st.integers(min_value=1), st.sampled_from(["open", "completed"]))
def test_a_copy_has_the_other_values_and_the_original_its_own(filled: int, status: str) -> None:
    order, changed = Order(quantity=5, limit_price_cents=1), {"filled": filled, "status": status}

    copied, expected = order.model_copy(update=changed), SLOW(order, update=changed)

    assert copied == expected
    assert copied.model_dump() == expected.model_dump()
    assert copied.model_fields_set == expected.model_fields_set
    assert copied.model_dump_json(exclude_unset=True) == expected.model_dump_json(
        exclude_unset=True
    )
    assert (order.filled, order.status) == (0, "open")
