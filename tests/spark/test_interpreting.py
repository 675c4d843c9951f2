"""Small batches are interpreted and large ones get code of their own, with the same rows."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from verdict.adapters.spark.query_settings import INTERPRETED, MOST_ROWS, CodegenSwitch
from verdict.write_side.processor.spark_plan import bounded

KAFKA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
AT = datetime(2026, 11, 25, tzinfo=UTC)


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session with settings of its own, as a query has."""
    session = spark.newSession()
    yield session
    spark._jvm.SparkSession.setDefaultSession(spark._jsparkSession)  # type: ignore[union-attr]


def interpreted(session: SparkSession) -> bool:
    return {name: session.conf.get(name) for name in INTERPRETED} == INTERPRETED


def test_what_a_query_does_follows_the_size_of_its_batches(
    spark: SparkSession, session: SparkSession
) -> None:
    session.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")  # by somebody else
    chosen = {name: session.conf.get(name) for name in INTERPRETED}
    interpreting = CodegenSwitch()
    seen = []
    for rows in (MOST_ROWS + 1, 0, 1, MOST_ROWS, MOST_ROWS + 1, 1):
        interpreting.suit(session, rows)
        seen.append(interpreted(session))
        if not seen[-1]:
            assert {name: session.conf.get(name) for name in INTERPRETED} == chosen

    assert seen == [False, True, True, True, False, True]
    assert not interpreted(spark), "whatever else runs keeps its settings"


def test_the_first_batch_of_a_query_is_interpreted(session: SparkSession) -> None:
    interpreting = CodegenSwitch()
    with interpreting.first_batch(session):
        assert interpreted(session), "so is the copy that a query begins with"
    assert not interpreted(session), "as before"

    copy = session.newSession()
    for name, value in INTERPRETED.items():
        copy.conf.set(name, value)
    interpreting.suit(copy, MOST_ROWS + 1)

    assert not interpreted(copy)


def test_records_are_the_same_either_way(session: SparkSession) -> None:
    long, name = b"x" * 300, "retry_attempt"
    records = [
        (b"a", b"v", "order.commands", 0, 1, AT, None),
        (None, None, "order.commands", 1, 2, AT, []),
        (long, long, "retry", 2, 3, AT, [(name, b"2"), ("other", b"\xff"), (name, b"7")]),
        (b"\xff", b"", "retry", 3, 4, datetime(1900, 1, 1, tzinfo=UTC), [(name, b"\xff")]),
        (b"b", b"v", "retry", 3, 5, datetime(9999, 12, 31, tzinfo=UTC), [("reply_to", long)]),
    ]
    found = []
    for rows in (MOST_ROWS + 1, 1):
        CodegenSwitch().suit(session, rows)
        assert interpreted(session) is (rows == 1)
        arrived = session.sparkContext.parallelize(records)  # what is local Spark folds by itself
        frame = bounded(session.createDataFrame(arrived, KAFKA), 100)
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert ("*(1)" in plan) is (rows > 1), "so it marks what gets code of its own"
        found.append(sorted(map(repr, frame.collect())))

    assert found[0] == found[1]
    assert len(found[0]) == len(records)
