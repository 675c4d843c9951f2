"""Projections of each kind, batch by batch and built in one go: they show what the rows say."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Annotated, Any, NamedTuple

import pytest
from sqlalchemy import Column, MetaData, Text, select

from schemas.position import (
    PositionAdjusted,
    PositionClosed,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from schemas.share_holding import share_holders
from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.databases import Rows as Selected
from tests.kit.log import EventLog, opened
from tests.read_side.second_version import compared
from tests.read_side.state_log import StateLog
from verdict import Instant, RecordedEvent
from verdict.errors import InvalidApplicationError
from verdict.model.message import Event, iso_time
from verdict.model.projection import Declaration
from verdict.projections import (
    Doc,
    EventSource,
    Groups,
    Latest,
    RowProjection,
    Rows,
    TableProjection,
    any_of,
    count,
    key,
    maximum,
    minimum,
    projection,
    row_table,
    there,
    total,
    version_view,
)
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.catalog import at_version
from verdict.read_side.projections.documented_view import about_view, columns_of
from verdict.read_side.projections.kind_tables import compile_projection

pytestmark = pytest.mark.both_databases


class Held(NamedTuple):
    client: Annotated[str | None, Doc("Who holds it.")]
    exchange: str | None
    amount: int
    large: bool
    since: Instant
    adjusted: Annotated[Instant | None, Doc("When its amount last changed.")]


def evolve(row: Held | None, recorded: RecordedEvent[Any]) -> Held | None:
    match recorded.payload:
        case PositionOpened(client=client, exchange=exchange, amount=amount):
            return Held(client, exchange, amount, amount > 50, recorded.decided_at, None)
        case PositionAdjusted(amount=amount):
            at = recorded.decided_at
            return there(row)._replace(amount=amount, large=amount > 50, adjusted=at)
        case PositionRelisted(exchange=exchange):
            return there(row)._replace(exchange=None if exchange == "LON" else exchange)
        case PositionTransferred(client=client):
            return there(row)._replace(client=None if client == "nobody" else client)
        case _:
            return None


@projection(of="position")
def all_columns() -> Groups[Held]:
    """Everything that groups can show."""
    return Groups(
        Held,
        evolve,
        by=lambda row: row.client,
        columns={
            "large": count("Of the large ones.", large=True),
            "large_us": count("Of the large ones there.", large=True, exchange="NYSE"),
            "unlisted": count("Of those that are nowhere.", exchange=None),
            "client": key("The client."),
            "amount": total("amount", "Of all."),
            "has_large": any_of("large", "Whether one is large."),
            "has_any": any_of("amount", "Whether one is not empty."),
            "first": minimum("since", "The first."),
            "smallest": minimum("amount", "The smallest."),
            "adjusted": maximum("adjusted", "The last change."),
            "exchange": maximum("exchange", "The last one by name."),
        },
    )


@projection(of="position")
def largest() -> Latest[Held]:
    """The three largest positions of each client."""
    return Latest(3, Held, evolve, by="client", order_by="amount", index=("exchange",))


@projection(of="position")
def plain() -> Rows[Held]:
    """All positions."""
    return Rows(Held, evolve, index=("client",))


def greatest(values: list[Any]) -> Any:
    return max((one for one in values if one is not None), default=None)


def groups(rows: Mapping[str, Held]) -> Selected:
    """Return what `all_columns` shows of rows."""
    found = []
    for client in sorted({row.client for row in rows.values() if row.client is not None}):
        own = [row for row in rows.values() if row.client == client]
        adjusted = greatest([row.adjusted for row in own])
        found.append(
            (
                sum(row.large for row in own),
                sum(row.large and row.exchange == "NYSE" for row in own),
                sum(row.exchange is None for row in own),
                client,
                sum(row.amount for row in own),
                any(row.large for row in own),
                any(row.amount > 0 for row in own),
                iso_time(min(row.since for row in own)),
                min(row.amount for row in own),
                adjusted and iso_time(adjusted),
                greatest([row.exchange for row in own]),
            )
        )
    return found


def places(rows: Mapping[str, Held]) -> Selected:
    """Return client, rank and position of what `largest` shows of rows."""
    found: Selected = []
    for client in sorted({row.client for row in rows.values() if row.client is not None}):
        own = [(row.amount, name) for name, row in rows.items() if row.client == client]
        newest = sorted(own, reverse=True)[:3]
        found += [(client, place, name) for place, (_, name) in enumerate(newest, start=1)]
    return found


def ids(rows: Mapping[str, Held]) -> Selected:
    return [(name, row.client, row.amount) for name, row in sorted(rows.items())]


class Positions:
    """Some positions to which something happens, and their rows."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.log = EventLog(2)
        self.rows: dict[str, Held] = {}

    def happen(self) -> ProjectionBatch:
        """Return a batch of what happened."""
        for _ in range(self._random.randrange(1, 25)):
            name = f"p-{self._random.randrange(14)}"
            event = self._event(name)
            self.log.add(name, event)
            recorded = self.log.deliveries[-1].record
            assert isinstance(recorded, RecordedEvent)
            after = evolve(self.rows.pop(name, None), recorded)
            if after is not None:
                self.rows[name] = after
        return self.log.batch()

    def _event(self, name: str) -> Event:
        client = self._random.choice(["ada", "bob", "cleo", "nobody"])
        exchange = self._random.choice(["NYSE", "IEX", "LON"])
        amount = self._random.randrange(1, 100)
        if name not in self.rows:
            return opened(client, exchange, amount=amount)
        return self._random.choice(
            [
                PositionAdjusted(amount=amount),
                PositionRelisted(exchange=exchange),
                PositionTransferred(client=client),
                PositionClosed(),
            ]
        )


@pytest.mark.proves("H-09")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("declared", "shown", "oracle"),
    [
        (all_columns, "SELECT * FROM all_columns ORDER BY client", groups),
        (largest, "SELECT client, rank, position_id FROM largest ORDER BY 1, 2", places),
        (plain, "SELECT position_id, client, amount FROM plain ORDER BY 1", ids),
    ],
)
def test_it_shows_what_the_rows_say_batch_by_batch_and_built_in_one_go(
    new_database: NewDatabase,
    declared: Declaration[..., Any],
    shown: str,
    oracle: Callable[[Mapping[str, Held]], Selected],
    seed: int,
) -> None:
    read_side = ReadSide(new_database(), [compile_projection(declared)])
    positions, applier = Positions(seed), read_side.applier(declared.name)
    for _ in range(12):
        applier.apply(positions.happen())
        assert not applier.is_stopped
        assert read_side.select(shown) == oracle(positions.rows)

    built = compile_projection(declared, 2)
    found = compared(read_side, declared.name, positions.log.deliveries, built)
    assert all(one.equal and one.live.rows for one in found)
    read_side.close()


def test_the_view_has_the_comments_of_the_declaration() -> None:
    view = compile_projection(largest).views["largest"]

    assert about_view(view) == "The three largest positions of each client."
    assert [(one.name, one.type, one.about) for one in columns_of(view)] == [
        ("client", "text", "Who holds it."),
        ("rank", "integer", "1 is the newest, 3 the oldest that is shown."),
        ("position_id", "text", "Id of the position."),
        ("exchange", "text", ""),
        ("amount", "integer", ""),
        ("large", "boolean", ""),
        ("since", "time", ""),
        ("adjusted", "time", "When its amount last changed."),
    ]


class Events(NamedTuple):
    events: int


@projection(of=("order", "position"))
def of_both() -> Rows[Events]:
    """How many events each has."""
    return Rows(Events, lambda row, recorded: Events(there(row).events + 1 if row else 1))


def test_rows_of_several_types_have_the_type_and_the_id(new_database: NewDatabase) -> None:
    read_side = ReadSide(new_database(), [compile_projection(of_both)])
    log = EventLog(2, "order", "position")
    log.add("a", opened("ada"), PositionClosed())
    log.add("b", opened("ada"))
    read_side.applier("of_both").apply(log.batch())

    assert of_both.key == ("aggregate_type", "aggregate_id")
    assert read_side.select("SELECT * FROM of_both ORDER BY 1, 2") == [
        ("position", "a", 2),
        ("position", "b", 1),
    ]
    read_side.close()


class Client(NamedTuple):
    client: str


@projection(of=share_holders)
def of_states() -> Rows[Client]:
    """Who holds each position; those of mallory are left out."""
    return Rows(
        Client,
        lambda row, state: None if state.client == "mallory" else Client(f"{row}{state.client}"),
    )


def test_a_state_never_meets_the_row_before_as_compaction_may_remove_that(
    new_database: NewDatabase,
) -> None:
    read_side, log = ReadSide(new_database(), [compile_projection(of_states)]), StateLog()
    applier = read_side.applier("of_states")
    for client in ("ada", "bob", "cleo"):
        log.put("1", (client, "NYSE"))
        applier.apply(log.batch())
    log.put("2", ("mallory", "NYSE"))
    applier.apply(log.batch())

    assert read_side.select("SELECT * FROM of_states") == [("1", "Nonecleo")]
    assert [*compile_projection(of_states).views] == [
        "of_states"
    ]  # states have no versions to show
    read_side.close()


def own_tables(version: int = 1, size: int = 2) -> RowProjection[Any]:
    rows = row_table(f"own_row_v{version}", MetaData(), Column("client", Text))
    return RowProjection(
        name="own",
        version=version,
        source=EventSource(("position",)),
        row=Client,
        table=rows,
        evolve=lambda row, recorded: Client("x" * size),
        views={"own": select(rows.c.client), **version_view("own", "position", rows)},
    )


def test_what_has_tables_of_its_own_has_settings_too(new_database: NewDatabase) -> None:
    own = TableProjection(name="own", key=("client",), factory=own_tables)
    made = at_version(own, {"size": 3, "other": 4})

    assert (own.settings, made(2).settings) == (("size",), '{"size": 3}')
    read_side, log = ReadSide(new_database(), [made(1)]), EventLog(1)
    log.add("a", opened("ada"))
    read_side.applier("own").apply(log.batch())
    assert read_side.select("SELECT * FROM own") == [("xxx",)]
    read_side.close()

    elsewhere = TableProjection(name="elsewhere", key=("client",), factory=own_tables)
    with pytest.raises(InvalidApplicationError, match="'elsewhere' has no view of that name"):
        at_version(elsewhere, {})(1)
