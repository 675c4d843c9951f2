"""Records are decided as the independent model says, one by one, whatever comes."""

from random import Random

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.comparison import assert_as_the_model_says
from tests.decide.desk import Desk, placed
from tests.model import Expected, Model, Record, fold
from tests.traffic import Traffic


class Run:
    """The model and the decider, which take the same records."""

    def __init__(self, random: Random, aggregates: int) -> None:
        self.model = Model()
        self.traffic = Traffic(random, aggregates)
        self._desk = Desk()
        self._log: list[Record] = []

    def take(self, record: Record) -> None:
        """Compare the kind of answer and all fields of a response, at once and readably."""
        self._log.append(record)
        outcome, answer = self.model.take(record), self._desk.take(record)
        if outcome.response is None:
            assert answer.letter is not None, f"{answer.response} should be a dead letter"
            return
        assert answer.response is not None, f"{answer.letter} should be {outcome.response}"
        said = answer.response.model_dump() | {"source": outcome.record[:3]}
        assert outcome.response == {name: said[name] for name in outcome.response}

    def compare(self) -> Expected:
        """Compare everything that was published with the model folded over the whole log."""
        expected = fold(self._log)
        assert_as_the_model_says(expected, placed(self._desk.outputs))
        return expected


class WriteSide(RuleBasedStateMachine):
    @initialize(random=st.randoms(use_true_random=False))
    def begin(self, random: Random) -> None:
        self.run = Run(random, aggregates=2)

    @rule(act=st.sampled_from([Traffic.ask, Traffic.repeat, Traffic.reuse, Traffic.spoil]))
    def a_record_comes(self, act):  # type: ignore[no-untyped-def]
        self.run.take(act(self.run.traffic, self.run.model))

    def teardown(self) -> None:
        self.run.compare()


TestWriteSide = pytest.mark.proves("C-01")(WriteSide.TestCase)


@pytest.mark.slow
def test_a_long_run_of_random_traffic_reaches_every_ending_and_agrees_with_the_model() -> None:
    run = Run(Random(20261121), aggregates=60)
    for _ in range(3000):
        run.take(run.traffic.next(run.model))

    counts = run.compare().counts()
    assert {ending for ending, count in counts.items() if count >= 10} >= {
        "ACCEPTED", "duplicate", "dead letter", "INVALID_COMMAND", "UNKNOWN_TYPE",
        "COMMAND_ID_REUSED", "EXPIRED", "VERSION_CONFLICT", "ALREADY_EXISTS", "NOT_FOUND",
        "DELETED", "BUSINESS_RULE",
    }  # fmt: skip
    events = [event for each in run.model.aggregates.values() for event in each.history]
    assert sum(event["count"] > 1 for event in events) >= 10
    assert sum(event["type"] == "PositionOpened" and event["version"] > 1 for event in events) > 2
