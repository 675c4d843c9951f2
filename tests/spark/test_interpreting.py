"""Small batches are interpreted and large ones get code of their own."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from verdict.adapters.spark.query_settings import INTERPRETED, MOST_ROWS, CodegenSwitch


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
