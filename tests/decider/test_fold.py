"""What recovery makes of events and responses is what the operator's state holds."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import pairwise
from operator import attrgetter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.position import PositionAdjusted, PositionClosed, PositionOpened
from tests.application import APPLICATION, decode_event, decode_snapshot, encode_event
from tests.decision.desk import command_record
from tests.decision.test_history import OPENED
from tests.decision.test_history import stored as recorded_history
from tests.model import Model, Record
from tests.traffic import Traffic
from verdict.decider.recovery.bounds import HOUR_MS, remembered_since
from verdict.decider.recovery.histories import Folded, Stand, Stored, snapshots
from verdict.decider.recovery.outcomes import outcomes
from verdict.decision.handle import Limits
from verdict.model.message import Event
from verdict.operator.batch import ShardBatch
from verdict.operator.output import Output
from verdict.operator.shard_state import DictState, Entry
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics

TOPICS = Topics(APPLICATION)
ALL = {topic: [10**9] * TOPICS.partitions for topic in TOPICS.every_commands()}  # is decided


def traffic(seed: int, length: int) -> list[Record]:
    """Return a commands log of every kind of traffic."""
    model, log = Model(), list[Record]()
    source = Traffic(Random(seed), aggregates=4)
    for _ in range(length):
        log.append(source.next(model))
        model.take(log[-1])
    return log


def decided(log: Iterable[Record], limits: Limits) -> tuple[DictState, list[Output]]:
    """Return the state of the only shard, and all outputs, of batches of 20 commands."""
    state, outputs, rest = DictState(), list[Output](), list(log)
    while rest:
        batch = ShardBatch(TOPICS, limits, state)
        outputs += batch.decide(map(command_record, rest[:20]))
        batch.commit()
        rest = rest[20:]
    return state, outputs


def stored(outputs: Iterable[Output], kind: str) -> list[Stored]:
    """Return what Kafka would hold on the topics of one kind, by aggregate, in order.

    The n-th record of all has the time n.
    """
    found = [
        Stored(
            TOPICS.aggregate_of(out.topic), out.topic, 0, offset, out.key or b"", out.value, offset
        )
        for offset, out in enumerate(outputs)
        if out.topic.endswith(kind)
    ]
    return sorted(found, key=attrgetter("aggregate_type", "key", "offset"))


def entries(folded: Iterable[Folded]) -> dict[bytes, Entry]:
    """Return what was recovered; nothing may be at fault."""
    found: dict[bytes, Entry] = {}
    for one in sorted(folded, key=lambda one: one.of.offset):
        assert one.fault is None
        if one.entry is not None:
            found[one.key] = one.entry
    return found


@pytest.mark.proves("C-17")
@pytest.mark.parametrize("seed", range(6))
def test_the_recovered_entries_are_those_of_the_operator(seed: int) -> None:
    limits = Limits(memory_ms=60 * 60 * 1000)
    state, outputs = decided(traffic(seed, 300), limits)

    found = entries(snapshots(APPLICATION, stored(outputs, ".events")))
    found |= entries(
        outcomes(APPLICATION, stored(outputs, ".responses"), limits, since=0, decided=ALL)
    )

    assert found == state.entries


def test_outcomes_from_before_a_time_are_not_recovered() -> None:
    _, outputs = decided(traffic(1, 100), Limits())
    responses = stored(outputs, ".responses")

    every, late = (
        entries(outcomes(APPLICATION, responses, Limits(), since, ALL)) for since in (0, 120)
    )

    ids = {decode(Response, one.value).command_id for one in responses if one.timestamp >= 120}
    assert late.items() < every.items()
    assert {decode(Response, entry.value).command_id for entry in late.values()} <= ids


NINE_DAYS = tuple(hour / 24 for hour in range(24 * 9))


def hours_of(*days: float) -> list[int]:
    """Return the hours in which something was answered, `days` ago."""
    return [round(10_000 - 24 * day) for day in days]


@pytest.mark.proves("G-04")
@pytest.mark.parametrize(
    ("hours", "hours_remembered"),
    [
        ([], None),
        (hours_of(0), None),
        (hours_of(0, 0.5, 1, 1.5), None),
        (hours_of(*NINE_DAYS), 49),
        (hours_of(0, 7, 7.5, 8, 8.5, 9), 24 * 8.5),  # of the week that passed, half a day counts
        ([*hours_of(*NINE_DAYS), 10**7], 37),  # one leap ahead
        ([*hours_of(*NINE_DAYS), 5], 49),  # one leap back
    ],
)
def test_one_leap_of_a_clock_costs_half_a_day_of_what_is_remembered(
    hours: list[int], hours_remembered: float | None
) -> None:
    two_days = 48 * HOUR_MS

    since = remembered_since(hours, two_days)

    assert since == (0 if hours_remembered is None else (10_000 - hours_remembered) * HOUR_MS)


def test_a_snapshot_says_how_far_events_go_and_a_response_how_far_they_went() -> None:
    _, outputs = decided(traffic(2, 200), Limits())
    responses = stored(outputs, ".responses")

    folded = {one.key: one.stand for one in snapshots(APPLICATION, stored(outputs, ".events"))}
    said: dict[bytes, Stand] = {}
    for one in outcomes(APPLICATION, responses, Limits(), since=0, decided=ALL):
        if one.stand is not None and one.stand >= said.get(one.key, one.stand):
            said[one.key] = one.stand

    assert folded == {key: stand for key, stand in said.items() if stand.version}


@pytest.fixture(scope="module")
def events() -> list[Stored]:
    """All events of some traffic, by aggregate."""
    _, outputs = decided(traffic(7, 200), Limits())
    return stored(outputs, ".events")


def faults(folded: Iterable[Folded]) -> list[str]:
    return [one.fault for one in folded if one.fault is not None]


def followed(events: list[Stored]) -> Iterator[int]:
    """Yield where an event is followed by another one of its aggregate."""
    for at, (one, other) in enumerate(pairwise(events)):
        if (one.aggregate_type, one.key) == (other.aggregate_type, other.key):
            yield at


def test_a_missing_event_is_named_by_the_one_behind_it(events: list[Stored]) -> None:
    at = next(followed(events))
    behind = events[at + 1]

    found = faults(snapshots(APPLICATION, [*events[:at], *events[at + 1 :]]))

    assert len(found) == 1
    assert found[0].startswith(f"{behind.topic}:0:{behind.offset}, aggregate {behind.key!r}")
    assert "follows version" in found[0]


def by_aggregate(folded: Iterable[Folded]) -> dict[tuple[str, bytes], Folded]:
    return {(one.of.aggregate_type, one.of.key): one for one in folded}


@pytest.mark.proves("C-17")
def test_where_one_is_passed_over_the_next_event_counts_whatever_came_before(
    events: list[Stored],
) -> None:
    """G-03: of an event that nobody can read a person decides, and the versions go on."""
    at = next(at for at in followed(events) if at - 1 in {*followed(events)})
    whole = by_aggregate(snapshots(APPLICATION, events))
    damaged = events[at]._replace(value=b"garbage", passed_over=True)

    found = by_aggregate(snapshots(APPLICATION, [*events[:at], damaged, *events[at + 1 :]]))

    assert found.keys() == whole.keys()
    assert [one.fault for one in found.values() if one.fault] == []
    which = damaged.aggregate_type, damaged.key
    ends = [one[which].entry for one in (found, whole)]
    mended, sound = (decode_snapshot(which[0], entry.value) for entry in ends if entry is not None)
    assert (mended.version, mended.last_hash) == (sound.version, sound.last_hash)


def of_one(events: list[Stored]) -> list[Stored]:
    """Return the events of an aggregate that has three at least."""
    one = next(one for at, one in enumerate(events) if {at, at + 1} <= {*followed(events)})
    return [each for each in events if each[0] == one[0] and each.key == one.key]


@pytest.mark.proves("C-17", "C-04")
@given(st.data())
def test_whatever_is_passed_over_no_version_is_forgotten(
    events: list[Stored], data: st.DataObject
) -> None:
    """A fault names what is missing then; or what is told goes up to the last one."""
    history = of_one(events)
    words = data.draw(st.lists(st.booleans(), min_size=len(history), max_size=len(history)))
    decided = zip(history, words, strict=True)

    found = [*snapshots(APPLICATION, [each._replace(passed_over=over) for each, over in decided])]

    told = max((abs(one.stand.version) for one in found if one.stand), default=0)
    assert faults(found) != [] or told == len(history)
    entry = [one.stand.version for one in found if one.entry and one.stand]
    last = len(history) - 1 - words[::-1].index(False) if False in words else -1
    assert faults(found) != [] or entry == ([last + 1] if last >= 0 else [])


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.parametrize("left", [1, 2])
def test_an_event_behind_a_hole_tells_of_its_version_where_no_response_does(
    events: list[Stored], left: int
) -> None:
    """A version below zero, so that any response knows better."""
    history = of_one(events)
    behind = [each._replace(passed_over=True) for each in history[-left:]]

    [found] = snapshots(APPLICATION, behind)
    assert (found.entry, found.stand and found.stand.version) == (None, -len(history))


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.parametrize("hidden", [(1,), (0,), (0, 1)])
def test_a_good_event_behind_what_nobody_can_read_tells_of_its_version(
    events: list[Stored], hidden: tuple[int, ...]
) -> None:
    """All of them are passed over, and perhaps the responses too."""
    history = of_one(events)
    last = max(hidden) + 1
    over = [
        one._replace(passed_over=at in {*hidden, last}, value=b"?" if at in hidden else one.value)
        for at, one in enumerate(history)
    ]

    told = [one.stand and one.stand.version for one in snapshots(APPLICATION, over[: last + 1])]
    assert last + 1 in told
    if over[last + 1 :]:
        assert faults(snapshots(APPLICATION, over)) != []


@pytest.mark.proves("C-17", "C-04")
def test_of_two_that_are_passed_over_with_one_version_either_may_lead_on(
    events: list[Stored],
) -> None:
    history = of_one(events)
    forged = decode_event(history[1].aggregate_type, history[1].value)._replace(actor="mallory")
    stray = history[1]._replace(value=encode_event(forged))
    over = [one._replace(passed_over=True) for one in (stray, *history[1:])]

    told, _ = snapshots(APPLICATION, [history[0], *over])

    assert told.stand is not None
    assert told.stand.version == len(history)


@pytest.mark.proves("C-17")
def test_where_the_rules_fail_behind_what_nobody_can_read_it_counts_as_deleted() -> None:
    """Once that is accepted: else no recovery at all would come to its end."""
    opened, adjusted, closed = OPENED, PositionAdjusted(amount=7), PositionClosed()
    history = [
        Stored("position", "position.events", 0, one.event.version, b"order-1", one.value)
        for one in recorded_history(opened, closed, opened, adjusted, adjusted)
    ]
    over = [history[0], history[1], history[2]._replace(value=b"?", passed_over=True), *history[3:]]

    [refused] = snapshots(APPLICATION, over)
    assert refused.fault is not None
    assert "the rules fail at version 4" in refused.fault
    [found] = snapshots(APPLICATION, [one._replace(behind_hole=True) for one in over])
    assert (found.fault, found.lost) == (None, 5)
    assert found.entry is not None
    kept = decode_snapshot("position", found.entry.value)
    assert (kept.version, kept.state) == (5, None)


@pytest.mark.proves("C-17", "C-04")
@pytest.mark.parametrize("left", [0, 1, 3])
def test_behind_what_is_lost_an_event_that_is_passed_over_tells_of_its_version(left: int) -> None:
    """However many of the lost ones are there again, and whatever hash the decider knew of them."""
    history = [
        Stored("position", "position.events", 0, one.event.version, b"order-1", one.value)
        for one in recorded_history(OPENED, PositionAdjusted(amount=7), PositionClosed(), OPENED)
    ]
    over = history[3]._replace(passed_over=True)

    told, *_ = snapshots(APPLICATION, [*history[:left], over], {("position", "order-1"): 3})

    assert (told.entry, told.stand and told.stand.version) == (None, 4)


@pytest.mark.proves("C-17")
def test_what_nobody_can_read_hides_no_good_event_beside_it(events: list[Stored]) -> None:
    """Both are passed over: the good one is missing, and the state would be one that never was."""
    history = of_one(events)
    garbage = history[1]._replace(value=b"garbage", passed_over=True)
    good = history[1]._replace(passed_over=True)

    [alone] = snapshots(APPLICATION, [history[0], garbage, *history[2:]])
    both = [
        snapshots(APPLICATION, [history[0], *each, *history[2:]])
        for each in ((garbage, good), (good, garbage))
    ]

    assert alone.fault is None
    assert [bool(faults(found)) for found in both] == [True, True]


@pytest.mark.proves("C-17")
def test_where_a_version_is_there_twice_both_places_are_named(events: list[Stored]) -> None:
    history = of_one(events)
    forged = decode_event(history[1].aggregate_type, history[1].value)._replace(actor="mallory")
    stray = history[1]._replace(value=encode_event(forged), offset=history[1].offset - 1)

    [found] = snapshots(APPLICATION, [history[0], stray, *history[1:]])

    assert found.fault is not None
    assert str(history[1].offset) in found.fault
    assert f"version 2 is there twice, first at {stray.topic}:0:{stray.offset}" in found.fault


@pytest.mark.proves("C-17")
def test_of_two_events_with_one_version_the_stray_one_is_passed_over(events: list[Stored]) -> None:
    """The chain tells which of them verdict wrote, wherever the other one lies."""
    history = of_one(events)
    [whole] = snapshots(APPLICATION, history)
    first = decode_event(history[1].aggregate_type, history[1].value)
    value = encode_event(first._replace(actor="mallory"))
    stray = history[1]._replace(value=value, passed_over=True)

    before, behind = [history[0], stray, *history[1:]], [*history[:2], stray, *history[2:]]

    for with_stray in (before, behind, [*history, stray]):
        [found] = snapshots(APPLICATION, with_stray)
        assert (found.fault, found.entry, found.stand) == (None, whole.entry, whole.stand)
    [genuine, *_] = snapshots(
        APPLICATION, [history[0], stray._replace(passed_over=False), *history[2:]]
    )
    assert genuine.fault is not None


@pytest.mark.proves("C-17")
@pytest.mark.parametrize(
    ("behind", "lost", "state"),
    [
        ([PositionAdjusted(amount=9)], 3, None),
        ([OPENED], 2, OPENED),
        ([PositionAdjusted(amount=9), PositionClosed(), OPENED], 4, OPENED),
        ([OPENED, PositionClosed()], 2, None),
    ],
)
def test_behind_a_hole_nobody_knows_what_an_aggregate_was(
    behind: list[Event], lost: int, state: PositionOpened | None
) -> None:
    """Though the rules might go on: with a state that never was."""
    told = recorded_history(OPENED, PositionAdjusted(amount=7), *behind)
    placed = [
        Stored("position", "position.events", 0, one.event.version, b"order-1", one.value)
        for one in told
    ]
    behind_hole = [one._replace(behind_hole=True) for one in [placed[0], *placed[2:]]]

    [found] = snapshots(APPLICATION, behind_hole)

    assert (found.fault, found.lost) == (None, lost)
    assert found.entry is not None
    kept = decode_snapshot("position", found.entry.value)
    anew = None if state is None else APPLICATION.aggregate("position").evolve(None, state)
    assert (kept.version, kept.state) == (len(told), anew)
    later = [one._replace(behind_hole=False) for one in behind_hole]
    [again] = snapshots(APPLICATION, later, {("position", "order-1"): lost})
    assert again.entry == found.entry
    [of_another] = snapshots(APPLICATION, later, {("position", "order-2"): lost})
    assert of_another.fault is not None


@pytest.mark.proves("C-17")
@pytest.mark.parametrize("left", [1, 2])
def test_who_began_anew_as_if_deleted_is_folded_from_there(left: int) -> None:
    """Whether the events are there or not: as the decider has gone on, and the chain with it."""
    placed = [
        Stored("position", "position.events", 0, one.event.version, b"order-1", one.value)
        for one in recorded_history(OPENED, PositionAdjusted(amount=7), OPENED)
    ]
    history = [*placed[:left], placed[2]]

    [found] = snapshots(APPLICATION, history, {("position", "order-1"): 2})

    assert (found.fault, found.lost) == (None, 0)
    assert found.entry is not None
    kept = decode_snapshot("position", found.entry.value)
    anew = APPLICATION.aggregate("position").evolve(None, OPENED)
    assert (kept.version, kept.state) == (3, anew)
    assert kept.last_hash == sha256(placed[2].value).digest()
    if left == 1:
        [refused] = snapshots(APPLICATION, history)
        assert refused.fault is not None


@pytest.mark.proves("C-17")
def test_what_answers_a_command_that_is_not_decided_says_that_the_marker_is_older() -> None:
    """C-01: else that command would be answered a second time."""
    responses = stored(decided(traffic(1, 100), Limits())[1], ".responses")
    last = max((decode(Response, one.value) for one in responses), key=lambda one: one.source)
    place = last.source
    older = {topic: [*ends] for topic, ends in ALL.items()}
    older[place.topic][place.partition] = place.offset

    [fault] = faults(outcomes(APPLICATION, responses, Limits(), 0, older))

    assert f"answers {place}, and the decider's marker" in fault
    assert f"decided up to {place.offset}: it is an older copy" in fault


def test_a_response_that_was_deleted_is_named_as_one_that_cannot_be_read() -> None:
    tombstone = Stored("order", "order.responses", 0, 7, b"order-1", None)  # type: ignore[arg-type]

    (found,) = outcomes(APPLICATION, [tombstone], Limits(), 0, ALL)

    assert found.fault is not None
    assert found.fault.startswith("order.responses:0:7, aggregate b'order-1': ")
    assert [*outcomes(APPLICATION, [tombstone._replace(passed_over=True)], Limits(), 0, ALL)] == []


def test_what_is_no_event_is_passed_over_as_if_it_were_not_there(events: list[Stored]) -> None:
    strange = [
        Stored("order", "order.events", 0, 10_000, b"nobody", b"garbage", passed_over=True),
        Stored("order", "order.events", 0, 10_001, None, None, passed_over=True),  # type: ignore[arg-type]
    ]
    with_strange = sorted([*events, *strange], key=lambda one: (one.aggregate_type, one.key or b""))

    assert entries(snapshots(APPLICATION, with_strange)) == entries(snapshots(APPLICATION, events))


def test_an_altered_event_breaks_the_chain_of_hashes(events: list[Stored]) -> None:
    """C-16: whoever alters an event and writes it soundly is found by the next one."""
    at = next(followed(events))
    event = decode_event(events[at].aggregate_type, events[at].value)
    altered = encode_event(event._replace(correlation_id="somebody else's"))

    found = faults(
        snapshots(
            APPLICATION, [*events[:at], events[at]._replace(value=altered), *events[at + 1 :]]
        )
    )

    assert len(found) == 1
    assert "one was altered" in found[0]


def test_an_event_under_the_key_of_another_aggregate_is_named(events: list[Stored]) -> None:
    found = faults(snapshots(APPLICATION, [events[0]._replace(key=b"another")]))

    assert len(found) == 1
    assert "holds an event of" in found[0]


def test_what_cannot_be_decoded_is_named_and_the_others_are_folded(events: list[Stored]) -> None:
    garbage = events[0]._replace(key=b"", value=b"garbage")

    found = list(snapshots(APPLICATION, [garbage, *events]))

    assert len(faults(found)) == 1
    assert len(found) == 1 + len({(one.aggregate_type, one.key) for one in events})
    assert len(faults(outcomes(APPLICATION, [garbage], Limits(), 0, ALL))) == 1
