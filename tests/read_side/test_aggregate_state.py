"""`<aggregate>_state`: what the rules know of each aggregate, for who asks in SQL."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from schemas.order import (
    OrderCancelled,
    OrderCompleted,
    OrderDeleted,
    OrderFilled,
    OrderModified,
    OrderPlaced,
)
from schemas.position import PositionRelisted
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide, Rows
from tests.kit.log import AN_EVENT, EventLog, opened
from tests.read_side.accidents import Followed, Step, follow, of_orders, steps
from tests.tiers import examples
from verdict.adapters.sql.readers.reader import Reader
from verdict.model.aggregate import Aggregate
from verdict.model.command import CREATING, Command
from verdict.model.message import Event, Hash, Instant, Message, iso_time
from verdict.model.personal import Personal
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side.projections.builtin.aggregate_state import (
    StateEvolve,
    aggregate_state,
    state_fields,
    state_views,
)
from verdict.read_side.projections.builtin.event_archive import event_archive
from verdict.read_side.projections.documented_view import columns_of
from verdict.read_side.schema.database import check_built


class Part(Message):
    name: str
    made_at: Instant | None = None


class Everything(Message):
    """A state with a field of each kind."""

    version: int
    whole: bool
    kind: Literal["a", "b"] | None = None
    at: Instant | None = None
    digest: Hash = b""
    parts: list[Part] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    first: Part | None = None
    owner: Annotated[str, Personal()] = "nobody"


class Become(Command):
    starts_from = CREATING


class Became(Event):
    state: Everything | None


everything = Aggregate(
    "everything", Everything, lambda state, command: [], lambda state, event: event.state,
    Become, Became,
)  # fmt: skip
parts = st.builds(Part)
states_of_all_kinds = st.builds(
    Everything,
    version=st.integers(-(2**63), 2**63 - 1),
    parts=st.lists(parts, max_size=2),
    counts=st.dictionaries(st.text(max_size=3), st.integers(-5, 5), max_size=2),
    digest=st.binary(max_size=3),
    at=st.none() | st.integers(0, 10**12),
)


@given(states_of_all_kinds)
def test_a_row_gives_back_the_state_that_it_was_made_of(state: Everything) -> None:
    evolve = StateEvolve(everything, state_fields(Everything))

    assert evolve.state(evolve(None, AN_EVENT._replace(payload=Became(state=state)))) == state


def test_columns_are_what_fields_are_and_names_that_are_taken_give_way() -> None:
    columns = columns_of(aggregate_state(everything).views["everything_state"])

    assert {column.name: column.type for column in columns} == {
        "id": "text", "version": "integer", "life_cycle": "text", "state_version": "integer",
        "whole": "boolean", "kind": "text", "at": "time", "digest": "bytes",
        "parts": "json", "counts": "json", "first": "json", "owner": "text",
        "global_position": "integer", "decided_at": "time",
    }  # fmt: skip


def test_an_aggregate_that_says_so_has_no_view() -> None:
    other = replace(everything, name="other", state_view=False)

    assert [*state_views([everything, other])] == ["everything_state"]


def test_what_was_deleted_comes_back_without_what_it_was() -> None:
    evolve = StateEvolve(everything, state_fields(Everything))
    state = Everything(version=7, whole=True)

    def after(row: Any, then: Everything | None) -> Any:
        return evolve(row, AN_EVENT._replace(decided_at=5, payload=Became(state=then)))

    deleted = after(after(None, state), None)

    assert deleted == ("DELETED", 5, *[None] * 9)
    assert after(deleted, state)[0] == "ACTIVE"


def oracle(events: Sequence[RecordedEvent]) -> Rows:
    """Return id, version, life cycle, quantity, price, filled, status, time: by hand."""
    orders: dict[str, list[Any]] = {}
    for event in events:
        row = orders.setdefault(event.aggregate_id, [event.aggregate_id, 0, "ACTIVE", *[None] * 5])
        row[1], row[7] = event.version, iso_time(event.decided_at)
        match event.payload:
            case OrderPlaced(quantity=quantity, limit_price_cents=price):
                row[2:7] = ["ACTIVE", quantity, price, 0, "open"]
            case OrderModified(quantity=quantity, limit_price_cents=price):
                row[3:5] = [quantity, price]
            case OrderFilled(quantity=quantity):
                row[5] += quantity
            case OrderCompleted():
                row[6] = "completed"
            case OrderCancelled():
                row[6] = "cancelled"
            case OrderDeleted():
                row[2:7] = ["DELETED", *[None] * 4]
    return sorted(map(tuple, orders.values()))


SHOWN = """SELECT id, version, life_cycle, quantity, limit_price_cents, filled, status, decided_at
FROM order_state ORDER BY id"""


@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=steps(of_orders, ["a", "b", "c"]))
def test_whatever_happens_states_are_what_the_events_say(
    read_side: ReadSide, sequence: list[Step]
) -> None:
    follow(Followed(read_side, "order_state", "order", query=SHOWN, oracle=oracle), sequence)


def test_the_last_event_is_shown_with_its_position_once_the_archive_has_it(
    read_side: ReadSide, log: EventLog
) -> None:
    log.add("p-1", opened("ada"), PositionRelisted(exchange="LON"))
    read_side.applier("position_state").apply(log.everything())
    asked = "SELECT version, global_position FROM position_state WHERE id = 'p-1'"

    assert read_side.select(asked) == [(2, None)]
    read_side.applier("event_archive").apply(log.everything())
    assert read_side.select(asked) == [(2, 2)]


@pytest.mark.both_databases
def test_rules_that_remember_more_stop_their_view_only_until_it_is_built_again(
    new_database: NewDatabase, log: EventLog
) -> None:
    class More(Everything):
        added: int = 0

    before, after = aggregate_state(everything), aggregate_state(replace(everything, state=More))
    url = new_database()
    ReadSide(url, [event_archive(APPLICATION), before]).close()
    read_side = ReadSide(url, [event_archive(APPLICATION), after])

    check_built(read_side.engine, [event_archive(APPLICATION), after])

    assert "`verdict projection rebuild everything_state`" in str(
        read_side.applier("everything_state").failure
    )
    assert read_side.select("SELECT state_version FROM everything_state") == []
    read_side.close()


@pytest.mark.both_databases
def test_what_is_personal_is_shown_to_auditors_only(new_database: NewDatabase) -> None:
    projection = aggregate_state(everything)
    read_side = ReadSide(new_database(), [event_archive(APPLICATION), projection])
    row = {
        "aggregate_id": "e-1", "version": 1, "present": True, "life_cycle": "ACTIVE",
        "decided_at": 0, "state_version": 3, "masked_owner": "Ada Lovelace",
    }  # fmt: skip
    with read_side.engine.begin() as connection:
        connection.execute(projection.table.insert(), row)
    views = [*projection.views]

    def seen(role: str, masked: bool) -> Rows:
        with Reader(read_side.url, views, role, masked=masked) as reader:
            asked = "SELECT owner, state_version FROM everything_state"
            return [*reader.select(f"{asked} WHERE owner IS NULL OR owner <> ''").rows]

    assert seen("verdict_reader", masked=True) == [(None, 3)]
    assert seen("verdict_auditor", masked=False) == [("Ada Lovelace", 3)]
    read_side.close()
