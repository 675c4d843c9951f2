"""The decider's query is started again as its owner, or not at all."""

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.errors import FencedError
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.write_side.decider_query.decider_query import DeciderQuery


class Watched:
    """A watch of the owner, who was replaced while the query was stopped."""

    def look(self) -> None:
        raise FencedError("decider was taken over by owner b")


@pytest.mark.proves("C-18", "F-20")
def test_a_query_that_was_stopped_does_not_begin_again_when_another_process_is_the_owner(
    tmp_path: Path,
) -> None:
    """Kafka was away, and somebody started the service elsewhere meanwhile."""
    spark = cast(SparkSession, None)
    ground = StreamContext(
        spark=spark, kafka=KafkaConfig(settings={}), source={}, partitions=1, scratch=tmp_path
    )
    deciding = DeciderQuery(ground, Settings(data_dir=tmp_path))
    deciding._watch = cast(Any, Watched())

    deciding.stop()
    with pytest.raises(FencedError):
        deciding.start()
