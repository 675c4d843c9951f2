"""The plan against the rules: every verdict that it promises is the one that the rules give."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from compose.demo.plan import Wish, planned, wishes
from tests.application import APPLICATION, encode_command
from tests.model import Record, fold
from verdict.model.command_envelope import CommandEnvelope

PARTS = [wishes(name, 1_000) for name in ("A", "B")]


def record(wish: Wish, offset: int) -> Record:
    """Return the command as it would be in Kafka."""
    aggregate_type = APPLICATION.aggregate_of(type(wish.command))
    envelope = CommandEnvelope(
        command_id=wish.command_id,
        aggregate_id=wish.aggregate_id,
        expected_version=wish.expected_version,
        payload={},
    )
    value = encode_command(aggregate_type, envelope, wish.command)
    key = wish.aggregate_id.encode()
    return Record(f"{aggregate_type}.commands", 0, offset, 1_795_000_000_000 + offset, key, value)


def interleaved(random: Random) -> Iterator[Wish]:
    """Yield what both send, each in its order, mixed at random."""
    left = [list(reversed(part)) for part in PARTS]
    while rest := [part for part in left if part]:
        yield random.choice(rest).pop()


@pytest.mark.parametrize("seed", range(3))
def test_the_model_decides_as_planned_whichever_producer_is_faster(seed: int) -> None:
    plan = planned(PARTS)

    expected = fold([record(*each[::-1]) for each in enumerate(interleaved(Random(seed)))])

    assert plan.repeated > 0
    assert expected.counts() == plan.verdicts | Counter(duplicate=plan.repeated)


def test_the_same_seed_gives_the_same_load() -> None:
    assert wishes("A", 300) == wishes("A", 300) != wishes("A", 300, seed=18)


def test_both_producers_race_for_the_same_versions_at_the_same_places() -> None:
    races = [
        [(number, w.aggregate_id, w.expected_version) for number, w in enumerate(part)
         if w.verdict is None]
        for part in PARTS
    ]  # fmt: skip

    assert races[0] == races[1]
    assert len(races[0]) == planned(PARTS).races == 40
