"""`receive` and `handle` against the independent model, command by command."""

from random import Random

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.comparison import assert_as_the_model_says
from tests.decide.desk import Answer, Desk, placed, published
from tests.model import Model, Outcome, Record, fold
from tests.traffic import Traffic
from verdict.streaming.exactly_once.batch import OutputRecord


def assert_same(outcome: Outcome, answer: Answer) -> None:
    """Compare the kind of answer and all fields of a response, at once and readably."""
    if outcome.response is None:
        assert answer.letter is not None, f"{answer.response} should be a dead letter"
        return
    assert answer.response is not None, f"{answer.letter} should be {outcome.response}"
    said = answer.response.model_dump() | {"source": outcome.record[:3]}
    assert outcome.response == {name: said[name] for name in outcome.response}


class WriteSide(RuleBasedStateMachine):
    """Both sides take the same record, one by one; at the end all topics are compared."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.desk = Desk()
        self.log: list[Record] = []
        self.outputs: list[OutputRecord] = []

    @initialize(random=st.randoms(use_true_random=False))
    def begin(self, random: Random) -> None:
        self.traffic = Traffic(random, aggregates=2)

    @rule()
    def a_command_comes(self) -> None:
        self._take(self.traffic.ask(self.model))

    @rule()
    def a_command_comes_again(self) -> None:
        self._take(self.traffic.repeat(self.model))

    @rule()
    def an_id_is_used_for_something_else(self) -> None:
        self._take(self.traffic.reuse(self.model))

    @rule()
    def something_malformed_comes(self) -> None:
        self._take(self.traffic.spoil(self.model))

    def _take(self, record: Record) -> None:
        answer = self.desk.take(record)
        assert_same(self.model.take(record), answer)
        self.log.append(record)
        self.outputs += published(record, answer)

    def teardown(self) -> None:
        """Compare everything that was published with the model folded over the whole log."""
        assert_as_the_model_says(fold(self.log), placed(self.outputs))


TestWriteSide = pytest.mark.proves("C-01")(WriteSide.TestCase)


@pytest.mark.slow
def test_a_long_run_of_random_traffic_reaches_every_ending_and_agrees_with_the_model() -> None:
    traffic, model, desk = Traffic(Random(20261121), aggregates=60), Model(), Desk()
    log: list[Record] = []
    outputs: list[OutputRecord] = []
    for _ in range(3000):
        record = traffic.next(model)
        answer = desk.take(record)
        assert_same(model.take(record), answer)
        log.append(record)
        outputs += published(record, answer)

    expected = fold(log)
    assert_as_the_model_says(expected, placed(outputs))

    counts = expected.counts()
    assert {ending for ending, count in counts.items() if count >= 10} >= {
        "ACCEPTED", "duplicate", "dead letter", "INVALID_COMMAND", "UNKNOWN_TYPE",
        "COMMAND_ID_REUSED", "EXPIRED", "VERSION_CONFLICT", "ALREADY_EXISTS", "NOT_FOUND",
        "DELETED", "BUSINESS_RULE",
    }  # fmt: skip
    events = [event for each in model.aggregates.values() for event in each.history]
    assert sum(event["count"] > 1 for event in events) >= 10
    assert sum(event["type"] == "PositionOpened" and event["version"] > 1 for event in events) > 2
