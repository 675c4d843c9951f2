"""What recovery makes of events and responses is what the decider's state holds."""

import re
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

import pytest

from tests.application import APPLICATION, decode_event, encode_event
from tests.decide.desk import command_record, log_of
from tests.model import Record
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.skip_record import DamagedAggregate, Kind
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.decider_query.decider_query import HOUR_MS
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.recovery.folding import remembered_since
from verdict.write_side.recovery.histories import EVENT, RESPONSE, Memory, Stored, fold_histories
from verdict.write_side.state.shard_state import FOR_EVER, DictState, StateEntry

TOPICS = Topics(APPLICATION)
ALL = {topic: [10**9] * TOPICS.partitions for topic in TOPICS.every_commands()}  # is decided


def decided(log: Iterable[Record], limits: Limits) -> tuple[DictState, list[OutputRecord]]:
    """Return the state of the only shard, and all outputs, of batches of 20 commands."""
    state, outputs, rest = DictState(), list[OutputRecord](), list(log)
    while rest:
        batch = ShardBatch(TOPICS, limits, state)
        outputs += batch.decide(map(command_record, rest[:20]))
        batch.commit()
        rest = rest[20:]
    return state, outputs


def stored(outputs: Iterable[OutputRecord]) -> list[Stored]:
    """Return what Kafka would hold of events and responses, in the order of a recovery.

    The n-th record of all has the time n.
    """
    ranks = {"events": EVENT, "responses": RESPONSE}
    found = [
        Stored(
            TOPICS.aggregate_of(out.topic), ranks[kind], out.topic, 0, offset, out.key, out.value,
            timestamp=offset,
        )
        for offset, out in enumerate(outputs)
        if (kind := out.topic.rpartition(".")[2]) in ranks
    ]  # fmt: skip
    return sorted(found, key=ORDER)


ORDER = attrgetter("aggregate_type", "key", "rank", "partition", "offset")
MEMORY = Memory(Limits(), since=0, decided=ALL)


def entries(records: Iterable[Stored], memory: Memory = MEMORY) -> dict[bytes, StateEntry]:
    """Return what was recovered; nothing may be at fault."""
    found: dict[bytes, StateEntry] = {}
    for one in sorted(fold_histories(APPLICATION, records, memory), key=attrgetter("offset")):
        assert (one.fault, one.decision) == (None, None)
        assert one.entry is not None
        found[one.key] = one.entry
    return found


def damaged(records: Iterable[Stored], memory: Memory = MEMORY) -> DamagedAggregate:
    """Return the only aggregate whose history is damaged."""
    [decision] = [
        one.decision for one in fold_histories(APPLICATION, records, memory) if one.decision
    ]
    assert decision.kind is Kind.QUARANTINED
    assert decision.aggregate is not None
    return decision.aggregate


def faults(records: Iterable[Stored], memory: Memory = MEMORY) -> list[str]:
    return [one.fault for one in fold_histories(APPLICATION, records, memory) if one.fault]


@pytest.mark.proves("C-17")
@pytest.mark.parametrize("seed", range(6))
def test_the_recovered_entries_are_those_of_the_operator(seed: int) -> None:
    limits = Limits(memory_ms=60 * 60 * 1000)
    state, outputs = decided(log_of(seed, 300), limits)

    assert entries(stored(outputs), MEMORY._replace(limits=limits)) == state.entries


def test_outcomes_from_before_a_time_are_not_recovered() -> None:
    _, outputs = decided(log_of(1, 100), Limits())
    records = stored(outputs)

    every, late = (entries(records, MEMORY._replace(since=since)) for since in (0, 120))

    young = [one for one in records if one.rank == RESPONSE and one.timestamp >= 120]
    ids = {decode(Response, one.value or b"").command_id for one in young}
    assert late.items() < every.items()
    remembered = [one for one in late.values() if one.keep_ms != FOR_EVER]
    assert {decode(Response, one.value).command_id for one in remembered} <= ids


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


HISTORY = next(  # all records of an aggregate with three events, each of a command of its own
    found
    for _, of_one in groupby(
        stored(decided(log_of(7, 200), Limits())[1]), key=attrgetter("aggregate_type", "key")
    )
    for found in [[*of_one]]
    if sum(one.rank == EVENT for one in found) == 3
    and all(
        decode_event(one.aggregate_type, one.value or b"").count == 1
        for one in found
        if one.rank == EVENT
    )
)
RESPONSES = [one for one in HISTORY if one.rank == RESPONSE]
EVENTS = [one for one in HISTORY if one.rank == EVENT]
FIRST, SECOND, THIRD = EVENTS
TOPIC, KEY = FIRST.topic, FIRST.key


def forged(event: Stored, **changed: Any) -> Stored:
    """Return a record with another event than verdict wrote."""
    found = decode_event(event.aggregate_type, event.value or b"")
    return event._replace(value=encode_event(found._replace(actor="mallory", **changed)))


def skipped(event: Stored) -> Stored:
    return event._replace(skipped=True)


@pytest.mark.proves("C-16", "C-17")
@pytest.mark.parametrize(
    ("events", "version", "error"),
    [
        ([FIRST, THIRD], 2, "version 3 follows version 1"),
        ([FIRST, SECOND], 3, "its last response reports version 3, and events end with version 2"),
        ([], 1, "its last response reports version 3, and events end with version 0"),
        ([FIRST, forged(SECOND), THIRD], 3, r"version 3 carries the hash .* one was altered"),
        ([FIRST, SECOND, forged(THIRD)], 3, "version 3, the last one, was altered"),
        ([*EVENTS, forged(SECOND)], 2, "version 2 is there twice with different bytes"),
        ([FIRST, SECOND._replace(value=b"garbage"), THIRD], 2, f"{TOPIC}:0:.* cannot be read"),
        ([FIRST, SECOND._replace(value=None), THIRD], 2, f"{TOPIC}:0:.* cannot be read"),
        ([*EVENTS, forged(THIRD, aggregate_id="another")], 4, "holds an event of .* 'another'"),
        ([FIRST, skipped(SECOND), THIRD], 2, "version 3 follows version 1"),
    ],
)
def test_a_damaged_history_is_named_with_the_first_damaged_version(
    events: list[Stored], version: int, error: str
) -> None:
    found = damaged([*RESPONSES, *events])

    assert (found.aggregate_type, found.aggregate_id.encode()) == (FIRST.aggregate_type, KEY)
    assert (found.version, found.last_version) == (version, 3)
    assert re.search(error, found.error), found.error


@pytest.mark.proves("C-17")
def test_a_skip_excuses_the_damage_that_it_causes_and_no_other() -> None:
    """Who skips an event has decided about its aggregate; the place tells."""
    stray = skipped(forged(SECOND)._replace(offset=SECOND.offset + 1))

    caused, other = (
        next(
            one.decision
            for one in fold_histories(APPLICATION, [*RESPONSES, *events], MEMORY)
            if one.decision
        )
        for events in ([FIRST, skipped(SECOND), THIRD], [FIRST, SECOND, stray])
    )

    assert caused.source == SECOND.place
    assert other.source != stray.place


@pytest.mark.proves("C-16", "C-17")
def test_an_event_without_a_response_is_believed_if_the_response_to_its_command_is_lost() -> None:
    """Then the outcome of its command follows from the event."""
    event = decode_event(THIRD.aggregate_type, THIRD.value or b"")
    told = [one for one in RESPONSES if decode(Response, one.value or b"").to_version != 3]
    place, offset = TopicPartition.of(event.source), event.source.offset
    lacking = MEMORY._replace(unanswered={place: [OffsetRange(offset, offset + 1)]})

    found = entries([*told, *EVENTS], lacking)

    assert found.keys() == entries(HISTORY).keys()
    outcomes = [decode(Response, one.value) for one in found.values() if one.keep_ms != FOR_EVER]
    [derived] = [one for one in outcomes if one.command_id == event.command_id]
    assert (derived.status, derived.from_version, derived.to_version) == ("ACCEPTED", 2, 3)
    assert (derived.event_ids, derived.source) == ([event.event_id], event.source)
    error = damaged([*told, *EVENTS]).error
    assert "reports version 2: verdict did not write the events after that" in error


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (RESPONSES[0]._replace(value=b"garbage"), "no Confluent header"),
        (RESPONSES[0]._replace(value=None), "no Confluent header"),
        (FIRST._replace(key=None), "no aggregate can have this key"),
        (FIRST._replace(key=b"\xff"), "no aggregate can have this key"),
    ],
)
@pytest.mark.proves("C-17")
def test_a_record_of_no_history_must_be_skipped(record: Stored, fault: str) -> None:
    [found] = [one for one in faults([record]) if fault in one]

    assert found.startswith(f"{record.topic}:0:{record.offset}, aggregate {record.key!r}")
    assert faults([skipped(record)]) == []


@pytest.mark.proves("C-17")
def test_a_response_to_a_command_that_is_not_decided_is_a_fault() -> None:
    found = faults(HISTORY, MEMORY._replace(decided={}))

    assert len(found) == len(RESPONSES)
    assert "decided up to 0" in found[0]
