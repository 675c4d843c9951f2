"""As of when: what counts, and what cannot be told."""

from pathlib import Path
from random import Random

import pytest
from pydantic import SecretStr

from projections.us_holder import us_holder
from schemas.position import PositionAdjusted, PositionClosed, PositionTransferred
from tests.as_of.world import World
from tests.kit.databases import ReadSide
from tests.kit.log import SECOND, START, opened
from tests.read_side.responses import ACCEPTED, REJECTED
from tests.tiers import the_first_of
from verdict.adapters.kafka.log_identity import DifferentLogError
from verdict.adapters.sql.time_text import wall_clock
from verdict.errors import UnreachableError, VerdictError
from verdict.model.message import iso_time
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.tables import interventions, source_topics
from verdict.read_side.tables.interventions import Intervention
from verdict.streaming.event_log.archive import PositionNotFoundError
from verdict.streaming.event_log.event_log import EventsMissingError
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import encode

pytestmark = pytest.mark.kafka

NOWHERE = SecretStr("sqlite:////nowhere/read.db")
HOLDERS = "SELECT client, positions, since FROM us_holder ORDER BY client"


def traffic(world: World, transactions: int, random: Random) -> None:
    """Let positions come and go, in transactions."""
    for nth in range(transactions):
        for number in range(6):
            name = f"p-{nth}-{number}"
            world.happen(name, opened(random.choice(["ada", "bob", "cleo"])))
            if random.random() < 0.5:
                world.happen(name, PositionTransferred(client="dora"), PositionClosed())
        world.write()


def stopped(world: World, position: int) -> list[tuple[object, ...]]:
    """Return the live table of a run that stopped after a global position."""
    seen = 'SELECT "partition", "offset" FROM event_archive WHERE global_position <= '
    places = {*world.read_side.select(f"{seen}{position}")}
    before = [d for d in world.deliveries() if (d.partition, d.offset) in places]
    spans = {
        TopicPartition(world.topic, n): OffsetRange(0, end) for n, end in world.ends(world.topic)
    }
    live = ReadSide(f"sqlite:///{world.settings.data_dir.parent / f'live-{position}.db'}")
    Applier(live.engine, live.projections["us_holder"], world.topics).apply(
        ProjectionBatch(before, spans)
    )
    rows = live.select(HOLDERS)
    live.close()
    return rows


@pytest.mark.long
@pytest.mark.proves("A-03")
def test_as_of_a_global_position_it_is_the_live_table_of_a_run_that_stopped_there(
    world: World, tmp_path: Path
) -> None:
    """A-03."""
    traffic(world, 4, Random(3))
    world.archive()
    last = len(world.deliveries())

    told = {n: world.told("us_holder", n, tmp_path) for n in (0, 1, last // 2, last)}

    for position, (rows, completion) in told.items():
        assert rows == stopped(world, position)
        assert (completion["as_of"]["asked"], completion["count"]) == (position, len(rows))
    assert told[0][0] == []
    assert len({str(rows) for rows, _ in told.values()}) == len(told)
    ends = {
        place["partition"]: place["next_offset"] for place in told[last][1]["as_of"]["positions"]
    }
    assert ends == {
        n: max(d.offset for d in world.deliveries() if d.partition == n) + 1 for n in ends
    }
    with pytest.raises(PositionNotFoundError, match=f"ends at {last}"):
        world.told("us_holder", last + 1, tmp_path)


@pytest.mark.proves("A-03")
@pytest.mark.parametrize("archived", the_first_of("some", "nothing", "all"))
@pytest.mark.long
def test_as_of_a_time_events_count_by_when_they_were_decided_not_by_where_they_lie(
    world: World, tmp_path: Path, archived: str
) -> None:
    world.happen("a-1", opened("ada"))  # at second 1
    world.events.pace = 4 * SECOND
    world.happen("a-1", PositionTransferred(client="late"))  # 5
    world.events.pace = -2 * SECOND
    world.happen("a-2", opened("bob"))  # 3, another shard of the same batch
    world.write()
    if archived == "some":
        world.archive()
    world.events.pace = SECOND
    world.happen("a-3", opened("cleo"))  # 4
    world.happen("a-3", PositionAdjusted(amount=9), PositionClosed())  # 5, 6
    world.write()
    if archived == "all":
        world.archive()

    def clients(second: int) -> list[str]:
        rows, _ = world.told("us_holder", iso_time(START + second * SECOND), tmp_path)
        return [str(client) for client, *_ in rows]

    assert [clients(second) for second in range(7)] == [
        [], ["ada"], ["ada"], ["ada", "bob"], ["ada", "bob", "cleo"], ["bob", "cleo", "late"],
        ["bob", "late"],
    ]  # fmt: skip


@pytest.mark.proves("A-03")
@pytest.mark.long
def test_the_same_moment_gives_the_same_bytes_whatever_happens_since(
    world: World, tmp_path: Path
) -> None:
    """A-03."""
    traffic(world, 2, Random(5))
    world.archive()
    last, then = len(world.deliveries()), iso_time(START + 99 * SECOND)
    before = [world.told("us_holder", moment, tmp_path) for moment in (last, then)]
    now = world.told("us_holder", "now", tmp_path)

    world.events.pace = 100 * SECOND
    traffic(world, 1, Random(6))
    after = [world.told("us_holder", moment, tmp_path) for moment in (last, then)]
    world.archive()

    assert after == before
    assert [world.told("us_holder", moment, tmp_path) for moment in (last, then)] == before
    assert now[0] == before[0][0]
    assert world.told("us_holder", "now", tmp_path)[0] != now[0]


@pytest.mark.proves("A-03")
def test_a_time_is_refused_until_it_has_passed_and_all_that_was_asked_by_then_is_decided(
    world: World, tmp_path: Path
) -> None:
    with pytest.raises(VerdictError, match=r"2126-01-01T00:00:00\.000Z is in the future, it is 2"):
        world.told("us_holder", "2126-01-01T00:00:00Z", tmp_path)
    commands = world.topics.commands("position")
    world.put(commands, "p-1", {})
    [command] = world.read(commands)
    asked = command.timestamp()[1]
    while wall_clock() <= asked:
        pass

    earlier = world.told("us_holder", iso_time(asked - 1), tmp_path)
    with pytest.raises(
        VerdictError, match=rf"{commands}:0 has commands .* up to offset 1, .* to 0"
    ):
        world.told("us_holder", iso_time(asked), tmp_path)
    assert world.told("program_tally", iso_time(asked), tmp_path)[0] == []
    world.decide()

    assert world.told("us_holder", iso_time(asked), tmp_path)[0] == earlier[0] == []


def test_a_time_waits_for_transactions_that_could_still_add_to_it(
    world: World, tmp_path: Path
) -> None:
    world.happen("p-1", opened("ada"))
    then, impatient = iso_time(START + SECOND), {"transaction_timeout_s": 1}
    world.settings = world.settings.model_copy(update=impatient)

    with (
        world.open_transaction(),
        pytest.raises(UnreachableError, match=r"position\.events:1 has been open for 2 s"),
    ):
        world.told("us_holder", then, tmp_path)

    assert [client for client, *_ in world.told("us_holder", then, tmp_path)[0]] == ["ada"]


def test_outcomes_count_by_when_kafka_had_them_and_have_no_global_position(
    world: World, tmp_path: Path
) -> None:
    answers = world.topics.responses("order")
    world.transact([(answers, b"order-1", encode(ACCEPTED), 0)])
    [first] = world.read(answers)
    while wall_clock() <= first.timestamp()[1]:
        pass
    world.transact([(answers, b"order-1", encode(REJECTED), 0)])
    then = iso_time(first.timestamp()[1])

    rows, completion = world.told("outcome", then, tmp_path)
    [place] = [p for p in completion["as_of"]["positions"] if p["next_offset"]]

    assert [row[0] for row in rows] == [ACCEPTED.command_id]
    assert (place["topic"], place["next_offset"]) == (answers, 1)
    assert len(world.told("outcome", "now", tmp_path)[0]) == 2
    with pytest.raises(VerdictError, match=r"outcome follows .*order\.responses.* events only"):
        world.told("outcome", 0, tmp_path)


@pytest.mark.long
def test_states_count_by_when_kafka_had_them_as_long_as_none_is_overtaken(
    world: World, tmp_path: Path
) -> None:
    topic = world.topics.named("share-holders")

    def holding(name: str, client: str) -> dict[str, object]:
        return {"id": name, "client": client, "ticker": "FB", "amount": 1, "exchange": "NYSE"}

    world.put(topic, "p-1", holding("p-1", "ada"), at=START)
    world.put(topic, "p-1", holding("p-1", "bob"), at=START + SECOND)
    world.put(topic, "p-1", None, at=START + 2 * SECOND)
    told = [
        world.told("us_holder_from_state", iso_time(START + n * SECOND), tmp_path)[0]
        for n in (-1, 0, 1, 2)
    ]
    world.transact([(topic, b"p-2", None, 0)])  # one offset more holds nothing, as when compacted
    world.put(topic, "p-3", holding("p-3", "cleo"))

    assert told == [[], [("ada", 1)], [("bob", 1)], []]
    assert world.told("us_holder_from_state", "now", tmp_path)[0] == [("cleo", 1)]
    with pytest.raises(VerdictError, match=r"share-holders:0 had by then 1 hold nothing any more"):
        world.told("us_holder_from_state", iso_time(wall_clock() - 1), tmp_path)


def test_a_read_side_that_was_filled_from_another_kafka_tells_nothing(
    world: World, tmp_path: Path
) -> None:
    traffic(world, 1, Random(4))
    world.archive()
    with world.read_side.engine.begin() as connection:
        source_topics.note(connection, "another-cluster", {world.topic: "another-id"})

    with pytest.raises(
        DifferentLogError, match=r"the read side belongs to another log: .*another-cluster"
    ):
        world.told("us_holder", "now", tmp_path)


def test_events_that_are_neither_archived_nor_in_kafka_or_do_not_exist_are_named(
    world: World, tmp_path: Path
) -> None:
    world.happen("p-1", opened("ada"))
    world.events.add_unseen("p-1", PositionAdjusted(amount=7))
    world.happen("p-1", PositionClosed())
    world.happen("a-1", opened("bob"))
    world.happen("p-2", opened("cleo"))
    world.write()

    with pytest.raises(
        VerdictError, match=r"1 aggregates .*: version 2 of position 'p-1' is missing"
    ):
        world.told("us_holder", "now", tmp_path)
    world.drop(before=1)
    with pytest.raises(
        EventsMissingError, match=r"position\.events:0 are archived up to offset 0 .* from 1 "
    ):
        world.told("us_holder", "now", tmp_path)
    assert [one.name for one in tmp_path.iterdir() if one.suffix in (".ndjson", ".new")] == []
    assert [*world.settings.data_dir.iterdir()] == []


@pytest.mark.long
@pytest.mark.proves("B-09")
def test_blocked_aggregates_refuse_an_export_unless_they_are_skipped_or_accepted(
    world: World, tmp_path: Path
) -> None:
    """G-03: each is named, and a person lets all others be exported."""
    world.happen("p-1", opened("ada"))
    world.happen("p-2", opened("bob"), PositionClosed(), PositionAdjusted(amount=2))
    world.happen("p-3", opened("cleo"), PositionClosed(), PositionAdjusted(amount=2))
    world.write()
    named = r"2 aggregates are blocked: us_holder/position/p-2, us_holder/position/p-3; .*no row"
    with pytest.raises(VerdictError, match=named):
        world.told("us_holder", "now", tmp_path)

    skip(world, "p-2")
    with pytest.raises(VerdictError, match="1 aggregates are blocked: us_holder/position/p-3"):
        world.told("us_holder", "now", tmp_path)
    rows, completion = world.told("us_holder", "now", tmp_path, accept_blocked=True)
    assert [row[:2] for row in rows] == [("ada", 1)]
    assert completion["blocked"] == ["us_holder/position/p-3"]

    skip(world, "p-3")
    rows, completion = world.told("us_holder", "now", tmp_path)
    assert [row[:2] for row in rows] == [("ada", 1)]
    assert "blocked" not in completion


def skip(world: World, name: str) -> None:
    with world.read_side.engine.begin() as connection:
        made = Intervention("evict", "ada", "never open", 0, None, None)
        interventions.record(connection, compile_projection(us_holder), ("position", name, 3), made)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("us_holders", "there is no projection 'us_holders'"), ("event_archive", "verdict sql")],
)
def test_what_cannot_be_exported_is_named(
    world: World, tmp_path: Path, name: str, problem: str
) -> None:
    with pytest.raises(VerdictError, match=problem):
        world.told(name, "now", tmp_path)


@pytest.mark.proves("A-03")
def test_it_is_told_as_the_live_version_was_built_whatever_is_set_where_it_is_asked(
    world: World, tmp_path: Path
) -> None:
    world.happen("p-1", opened("ada"), PositionAdjusted(amount=2))
    world.happen("p-2", opened("bob", exchange="LON"))
    world.write()
    world.settings = world.settings.model_copy(update={"us_exchanges": ("LON",)})

    rows, _ = world.told("us_holder", "now", tmp_path)
    assert [row[:2] for row in rows] == [("ada", 1)]

    world.settings = world.settings.model_copy(update={"database_url": NOWHERE})
    rows, _ = world.told("us_holder", "now", tmp_path)
    assert [row[:2] for row in rows] == [("bob", 1)], "without a read side what is set counts"
