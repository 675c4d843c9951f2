"""Topics of a test, and what starts the read side on them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine

from tests.event_log.conftest import followable
from tests.kit.deployment import name_of
from tests.rebuild.deployment import Deployment, some_projections
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.read_side.live.running import LiveProjections, OpenedProjection
from verdict.read_side.live.source import KafkaBatches
from verdict.read_side.live.stream import TASK_BYTES
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.service.read_side import sync_skips
from verdict.streaming.exactly_once.read_progress import bounds_of
from verdict.streaming.queries.source import StreamContext

__all__ = ["followable"]  # on both kinds of database, as its own tests have it


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return where the read side is, on SQLite."""
    return f"sqlite:///{tmp_path / 'read.db'}"


@pytest.fixture
def deployment(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path, url: str
) -> Deployment:
    """Return topics of this test alone."""
    return Deployment(broker.bootstrap_servers, f"{name_of(request)}.", tmp_path, url)


@pytest.fixture
def engine(deployment: Deployment) -> Iterator[Engine]:
    """Return the read side's database, as the service opens it."""
    engine = open_database(deployment.url)
    yield engine
    engine.dispose()


@pytest.fixture
def running(
    spark: SparkSession, deployment: Deployment, engine: Engine
) -> Iterator[Callable[..., LiveProjections]]:
    """Return what starts the read side (again)."""
    started: list[LiveProjections] = []

    def start(
        task_bytes: int = TASK_BYTES, declared: Sequence[Projection] | None = None
    ) -> LiveProjections:
        read_models = some_projections() if declared is None else declared
        create_read_side(engine, read_models)
        decided = sync_skips(deployment.options, deployment.topics, engine)
        batches = KafkaBatches(
            spark, deployment.source, deployment.topics, task_bytes, decided, deployment.kafka
        )
        opened = OpenedProjection(database=engine, projections=read_models, batches=batches)
        ground = StreamContext(
            spark=spark,
            kafka=deployment.kafka,
            source=deployment.source,
            partitions=deployment.topics.partitions,
            scratch=deployment.directory,
        )
        bounds = partial(bounds_of, ground.kafka)
        projecting = LiveProjections(ground, lambda: opened, bounds, deployment.topics)
        started.append(projecting)
        projecting.start()
        return projecting

    yield start
    for projecting in started:
        projecting.stop()
