"""Whom a processor lets publish: who began where the progress record of a query of Spark ends."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from tests.application import APPLICATION
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import lake_query
from verdict.streaming.queries import stateless
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.streaming.queries.stateless import StatelessProcessor
from verdict.wire.topics import Topics


class Begun:
    """One that has become the owner."""

    def __init__(self) -> None:
        self.closed = False
        self.progress = SimpleNamespace(
            offsets={topic: [0] for topic in lake_query(Topics(APPLICATION)).inputs}
        )

    def close(self) -> None:
        self.closed = True


class Spark:
    """Is not asked before a processor knows where to begin."""

    def __getattr__(self, name: str) -> object:
        raise ZeroDivisionError("the stream begins")


@pytest.mark.parametrize("published", [True, False])
def test_what_was_published_without_spark_is_followed_by_a_new_beginning(
    published: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else no batch of Spark's would fit behind it, and the processor stop for good."""
    owners: list[Begun] = []
    told: list[object] = []

    def restart_from_progress(*_: object) -> Begun:
        assert all(one.closed for one in owners)
        owners.append(Begun())
        return owners[-1]

    def begun(publisher: Publisher) -> bool:
        told.append(publisher)
        return published

    monkeypatch.setattr(stateless, "restart_from_progress", restart_from_progress)
    ground = StreamContext(
        spark=cast(SparkSession, Spark()),
        kafka=KafkaConfig(settings={}),
        source={},
        partitions=1,
        scratch=tmp_path,
    )
    one = StatelessProcessor(
        ground=ground,
        query=lake_query(Topics(APPLICATION)),
        follow=lambda frame: frame,
        take=lambda *_: None,
        rows=1,
        trigger_ms=0,
        data=tmp_path,
        begun=begun,
    )

    with pytest.raises(ZeroDivisionError):
        one.start()

    assert [each.closed for each in owners] == ([True, False] if published else [False])
    assert told == owners[:1]
    one.stop()
    assert all(each.closed for each in owners)
