"""A query that outlives what passes: when it is begun again, and when it is not."""

import pytest

from verdict.errors import Late, Unreachable, VerdictError
from verdict.spark import lasting
from verdict.spark.lasting import LATE_AT_MOST, Lasting


class Spark:
    """Begins queries that end by themselves, each with an error of the list."""

    def __init__(self, *endings: Exception | None) -> None:
        self._endings = [*endings]
        self.begun = 0
        self.is_there = True
        self.isActive = False  # as PySpark calls it

    def begin(self) -> "Spark":
        self.begun += 1
        self.isActive = self._endings[0] is None
        return self

    def exception(self) -> Exception | None:
        return self._endings.pop(0)

    def query(self) -> Lasting:
        return Lasting("decider", self.begin, lambda error: error, lambda: self.is_there)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "AGAIN_S", 0)


def test_it_waits_while_kafka_is_away_and_goes_on_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    spark = Spark(Unreachable("Kafka did not answer"), None)
    query = spark.query()
    query.start()

    spark.is_there = False
    for _ in range(5):
        query.check()
    assert spark.begun == 1
    spark.is_there = True
    query.check()
    query.check()

    assert spark.begun == 2
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "the decider waits, and goes on as soon as it can: Kafka did not answer",
        "the decider goes on",
    ]


@pytest.mark.proves("F-06")
def test_what_is_late_again_and_again_ends_it() -> None:
    spark = Spark(*[Late("no worker")] * (LATE_AT_MOST + 1))
    query = spark.query()
    query.start()

    for _ in range(2 * LATE_AT_MOST):  # it ends, is begun again
        query.check()
    with pytest.raises(Late):
        query.check()
    assert spark.begun == LATE_AT_MOST + 1


def test_a_batch_that_was_done_makes_good_for_those_that_were_late() -> None:
    spark = Spark(*[Late("no worker")] * 3 * LATE_AT_MOST, None)
    query = spark.query()
    take = query.kept(lambda frame, batch_id: None)
    query.start()

    for _ in range(6 * LATE_AT_MOST):
        query.check()
        take(None, 0)  # type: ignore[arg-type]

    assert spark.begun == 3 * LATE_AT_MOST + 1


def test_a_batch_that_fails_is_what_it_waits_for_until_it_is_done() -> None:
    """Kafka may answer, and yet take no transaction: that it is begun again helps nobody."""
    spark = Spark(*[RuntimeError("a page of Java")] * 3, None)
    query = spark.query()

    def fail(frame: object, batch_id: int) -> None:
        raise Unreachable("too few replicas are in sync")

    query.start()
    for _ in range(3):
        with pytest.raises(Unreachable):
            query.kept(fail)(None, 7)  # type: ignore[arg-type]
        query.check()
        assert query.waits == "too few replicas are in sync"
        query.check()
        assert query.waits == "too few replicas are in sync"

    query.kept(lambda frame, batch_id: None)(None, 7)  # type: ignore[arg-type]
    assert query.waits is None


def test_what_ended_it_between_batches_has_passed_when_it_runs_again() -> None:
    spark = Spark(Unreachable("Kafka did not answer"), None)
    query = spark.query()
    query.start()

    query.check()
    assert query.waits == "Kafka did not answer"
    query.check()
    assert query.waits is None


@pytest.mark.parametrize("ending", [VerdictError("taken over"), ZeroDivisionError("a bug")])
def test_anything_else_ends_it(ending: Exception) -> None:
    spark = Spark(ending)
    query = spark.query()
    query.start()

    with pytest.raises(type(ending)):
        query.check()


def test_what_a_batch_raised_is_told_and_not_what_spark_made_of_it() -> None:
    spark = Spark(RuntimeError("a page of Java"))
    query = spark.query()

    def fail(frame: object, batch_id: int) -> None:
        raise VerdictError("taken over")

    query.start()
    with pytest.raises(VerdictError):
        query.kept(fail)(None, 7)  # type: ignore[arg-type]

    with pytest.raises(VerdictError, match="taken over"):
        query.check()
