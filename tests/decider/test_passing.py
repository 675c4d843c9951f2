"""What a recovery does about what cannot be read: what is skipped, and where it begins."""

from dataclasses import replace

import pytest

from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.streaming.event_log.skip_log import skipped_ranges
from verdict.streaming.event_log.skips import NO_WISH, SkipLog, SkipRequest, plan_skips
from verdict.wire.partitions import OffsetRange, TopicPartition
from verdict.wire.skip_record import Kind, SkipRecord

COMMANDS, EVENTS = "order.commands", "order.events"
DECIDED = {COMMANDS: [10, 20]}
LOG = SkipLog(
    commands=[COMMANDS],
    begins={COMMANDS: [0, 0], EVENTS: [0, 0]},
    ends={COMMANDS: [15, 200_000], EVENTS: [7, 7]},
)


def asks(*places: Source, until: int | None = None) -> SkipRequest:
    stretches = [(one, until or one.offset + 1) for one in places]
    return SkipRequest(places=stretches, operator="ada", reason="a bomb", at=5)


def decision(source: Source, until: int) -> SkipRecord:
    return SkipRecord(
        source=source, until_offset=until, operator="ada", reason="a bomb", decided_at=5
    )


@pytest.mark.proves("C-17")
@pytest.mark.parametrize(
    ("places", "jumped", "offsets"),
    [
        ([], [], [10, 20]),
        ([Source(COMMANDS, 1, 22)], [(COMMANDS, 1, 20, 23)], [10, 23]),
        ([Source(COMMANDS, 0, 12), Source(COMMANDS, 0, 10)],
         [(COMMANDS, 0, 10, 11), (COMMANDS, 0, 11, 13)], [13, 20]),
        ([Source(EVENTS, 1, 6)], [], [10, 20]),
    ],
    ids=["none", "a command and undecided ones before it", "two of one partition", "an event"],
)  # fmt: skip
def test_skips_are_decided_and_commands_move_the_decider(
    places: list[Source], jumped: list[tuple[str, int, int, int]], offsets: list[int]
) -> None:
    plan = plan_skips(DECIDED, LOG, asks(*places), [])

    assert plan.decisions == [decision(place, place.offset + 1) for place in places]
    assert plan.jumped == [(*one, False, "ada: a bomb") for one in jumped]
    assert plan.offsets == {COMMANDS: offsets}
    assert DECIDED == {COMMANDS: [10, 20]}


def test_a_partition_that_the_progress_record_does_not_know_begins_at_0() -> None:
    plan = plan_skips({}, LOG, asks(Source(COMMANDS, 1, 4)), [])

    assert [one[:4] for one in plan.jumped] == [(COMMANDS, 1, 0, 5)]
    assert plan.offsets == {COMMANDS: [0, 5]}


@pytest.mark.proves("C-17")
def test_what_an_interrupted_run_had_decided_counts_without_asking_again() -> None:
    before = [decision(Source(COMMANDS, 0, 3), 4), decision(Source(COMMANDS, 1, 20), 21)]

    plan = plan_skips(DECIDED, LOG, NO_WISH, before)

    assert plan.decisions == []
    assert [one[:4] for one in plan.jumped] == [(COMMANDS, 1, 20, 21)]


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        (Source(COMMANDS, 0, 9), "is decided already, as all before offset 10 is"),
        (Source(COMMANDS, 0, 15), "there is no order.commands:0:15: that partition ends at 15"),
        (Source(COMMANDS, 2, 0), "that partition is not there"),
        (
            Source(COMMANDS, 1, 100_020),
            "100001 commands up to order.commands:1:100020 are undecided",
        ),
        (Source("orders", 0, 0), "on no topic that a recovery reads: order.commands, order.events"),
    ],
)
def test_what_cannot_be_passed_over_is_refused_with_the_reason(place: Source, problem: str) -> None:
    with pytest.raises(VerdictError, match=problem):
        plan_skips(DECIDED, LOG, asks(place), [])


@pytest.mark.proves("C-17")
def test_commands_that_kafka_dropped_are_named_until_somebody_skips_them() -> None:
    dropped = SkipLog(
        commands=[COMMANDS], begins={COMMANDS: [13, 20], EVENTS: [0, 0]}, ends=LOG.ends
    )

    with pytest.raises(
        VerdictError,
        match=r"order.commands:0 from offset 10 to 12; .*verdict skip order.commands:0:10-13 ",
    ):
        plan_skips(DECIDED, dropped, NO_WISH, [])
    plan = plan_skips(DECIDED, dropped, asks(Source(COMMANDS, 0, 10), until=13), [])

    assert plan.decisions == [decision(Source(COMMANDS, 0, 10), 13)]
    assert plan.jumped == [(COMMANDS, 0, 10, 13, True, "ada: a bomb")]
    assert plan.offsets == {COMMANDS: [13, 20]}

    again = plan_skips(DECIDED, dropped, NO_WISH, plan.decisions)
    assert (again.decisions, again.jumped) == ([], plan.jumped)
    more = replace(dropped, begins={COMMANDS: [14, 20]})
    with pytest.raises(VerdictError, match=r"order.commands:0 from offset 13 to 13; "):
        plan_skips(DECIDED, more, NO_WISH, plan.decisions)


@pytest.mark.proves("C-17")
def test_only_a_skip_passes_records_over() -> None:
    made = [
        replace(decision(Source(COMMANDS, 0, 10), 13), kind=kind)
        for kind in Kind
        if kind is not Kind.SKIPPED
    ]

    assert plan_skips(DECIDED, LOG, NO_WISH, made).jumped == []
    assert skipped_ranges(made).spans == {}
    assert skipped_ranges([*made, decision(Source(COMMANDS, 0, 10), 13)]).spans == {
        TopicPartition(COMMANDS, 0): (OffsetRange(10, 13),)
    }
