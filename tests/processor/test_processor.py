"""The Spark operator, without a JVM, against the independent model."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from aggregates import order
from commands.order import ModifyOrder
from compose.application import app
from tests.application import APPLICATION
from tests.comparison import assert_as_the_model_says
from tests.decide.desk import PLACING, as_json, command_record, log_of, placed
from tests.model import Record, fold
from tests.processor.fake_state import MapShardState
from verdict.model.application import Application
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.output_chunks import records_in
from verdict.wire.command_record import INPUT_COLUMNS
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.processor import CommandProcessor
from verdict.write_side.state.log_structured import LogStructuredState

MakeState = Callable[[Any], Any]
HOUR_MS = 60 * 60 * 1000
TEN_YEARS_MS = 3650 * 24 * HOUR_MS


@pytest.fixture(params=["plain", "log-structured"])
def make_state(request: pytest.FixtureRequest, tmp_path: Path) -> MakeState:
    """The state of a shard, the reference and the fast one."""
    if request.param == "plain":
        return MapShardState
    return partial(LogStructuredState, folder=tmp_path / "local")


def run(
    make_state: MakeState,
    batches: list[list[Record]],
    planned: Iterable[int] = repeat(0),
    application: Application = APPLICATION,
) -> list[OutputRecord]:
    """Return the outputs of the operator over `batches`, in order, each planned at its time."""
    times = iter(planned)
    processor = CommandProcessor(
        Topics(application), Limits(), make_state, planned_at=lambda: next(times)
    )
    tester = TwsTester(processor)
    return [output for batch in batches for output in _rows(tester.testInPandas(1, _frame(batch)))]


def cut(log: list[Record], random: Random) -> list[list[Record]]:
    """Return `log` in order in batches of random sizes, shuffled inside, as Spark does."""
    batches, rest = [], log
    while rest:
        size = random.randint(1, 25)
        batch, rest = rest[:size], rest[size:]
        random.shuffle(batch)
        batches.append(batch)
    return batches


@pytest.mark.proves("C-07")
@pytest.mark.parametrize("seed", range(6))
def test_the_operator_does_what_the_model_says(make_state: MakeState, seed: int) -> None:
    log = log_of(seed, 150)

    outputs = run(make_state, cut(log, Random(seed)))

    assert_as_the_model_says(fold(log), placed(outputs))


@pytest.mark.proves("C-04")
@pytest.mark.parametrize("seed", range(3))
def test_rows_shuffled_and_batches_cut_differently_give_the_same_bytes(
    make_state: MakeState, seed: int, tmp_path: Path
) -> None:
    log = log_of(seed, 120)

    one = run(MapShardState, [log])
    other = run(make_state, cut(log, Random(seed + 100)))

    assert by_topic_and_key(one) == by_topic_and_key(other)


@pytest.mark.proves("G-04")
@pytest.mark.parametrize("leap_ms", [TEN_YEARS_MS, -TEN_YEARS_MS])
def test_no_clock_that_leaps_lets_a_retry_be_done_a_second_time(
    make_state: MakeState, leap_ms: int
) -> None:
    """G-04: clocks of brokers stamp some records ten years off, the planner's leaps once, too."""
    random = Random(leap_ms)
    stamped = [
        record._replace(timestamp=record.timestamp + random.choice((0, 0, 0, leap_ms)))
        for record in log_of(11, 150)
    ]
    retries = [one._replace(offset=1000 + one.offset) for one in stamped]
    batches = [*cut(stamped, random), *cut(retries, random)]
    hours = [HOUR_MS * number for number in range(1, len(batches) + 1)]
    planned = [*hours[:10], *(hour + leap_ms + TEN_YEARS_MS for hour in hours[10:])]

    outputs = run(make_state, batches, planned)

    expected = fold(stamped + retries)
    assert_as_the_model_says(expected, placed(outputs))
    again = [expected.outcomes[one[:3]].response for one in retries]
    assert sum(answer is not None and answer["duplicate"] for answer in again) > 80


def by_topic_and_key(outputs: list[OutputRecord]) -> dict[Any, list[OutputRecord]]:
    """Return outputs in the order that matters: within a topic, of one key.

    Dead letters belong to no aggregate, those of several commands topics are in any order.
    """
    found: dict[Any, list[OutputRecord]] = {}
    for output in outputs:
        found.setdefault((output.topic, output.key), []).append(output)
    return {at: sorted(of) if at[0] == "dead-letters" else of for at, of in found.items()}


@pytest.mark.proves("C-02")
def test_two_commands_in_one_batch_see_each_other(make_state: MakeState) -> None:
    """C-02: a Delete and a Modify right behind it never both pass."""
    place = json_command(0, 0, PLACING)
    delete = json_command(1, 1, {"type": "DeleteOrder"})
    modify = json_command(2, 1, {"type": "ModifyOrder", "quantity": 5})

    outputs = run(make_state, [[modify, delete, place]])

    kinds = [output.topic.removeprefix("order.") for output in outputs]
    assert kinds == ["events", "responses", "events", "responses", "rejected", "responses"]


@pytest.mark.proves("C-10")
def test_a_bug_in_the_rules_costs_its_own_command_only(
    make_state: MakeState,
) -> None:
    """C-10: rejected as HANDLER_ERROR, kept as a dead letter, forgotten, and others go on."""
    sound = order.order.decide

    def decide(state: Any, command: Any) -> list[Any]:
        if isinstance(command, ModifyOrder):
            raise ZeroDivisionError(f"division by zero in {object()}")
        return sound(state, command)

    buggy = replace(order.order, decide=decide)
    others = (one for one in app.aggregates if one.name != "order")
    modify = {"type": "ModifyOrder", "quantity": 5}
    log = [
        json_command(0, 0, PLACING),
        json_command(1, 1, modify),
        json_command(1, 1, modify)._replace(offset=2),
        json_command(3, 1, {"type": "FillOrder", "quantity": 1, "price_cents": 1}),
    ]

    outputs = run(make_state, [log], application=replace(app, aggregates=(buggy, *others)))

    responses = [decode(Response, o.value) for o in outputs if o.topic == "order.responses"]
    reasons = [(one.reason, one.retriable, one.duplicate) for one in responses]
    failed = ("HANDLER_ERROR", True, False)
    assert reasons == [(None, False, False), failed, failed, (None, False, False)]
    said = r"ZeroDivisionError: division by zero in <object object at 0x> \(tests/.*, line \d+\)"
    assert re.fullmatch(said, responses[1].message or "")
    assert responses[3].to_version == 2
    letters = [decode(DeadLetter, o.value) for o in outputs if o.topic == "dead-letters"]
    assert [letter.bytes for letter in letters] == [log[1].value, log[2].value]
    volatile = {o.topic for o in outputs if not o.replayable}
    assert volatile == {"order.responses", "order.rejected", "dead-letters"}


def json_command(offset: int, expected: int, payload: dict[str, Any]) -> Record:
    """Return a command for `order-1` as anybody would send it by hand."""
    found = as_json(payload, command_id=f"c-{offset}", expected_version=expected)
    return found._replace(offset=offset)


def _frame(batch: list[Record]) -> pd.DataFrame:
    rows = [(*record[:3], *command_record(record)[1:]) for record in batch]
    return pd.DataFrame(rows, columns=list(INPUT_COLUMNS))


def unpacked(chunk: bytes) -> Iterator[OutputRecord]:
    return map(OutputRecord._make, records_in(chunk))


def _rows(frame: pd.DataFrame) -> Iterator[OutputRecord]:
    return (output for chunk in frame["outputs"].dropna() for output in unpacked(chunk))
