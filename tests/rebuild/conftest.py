"""Topics of a test, and what starts the read side on them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.event_log.conftest import followable
from tests.kit.deployment import name_of
from tests.rebuild.deployment import Deployment, some_projections
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.read_side.live.live_projections import NEAR, LiveProjections
from verdict.read_side.live.projection_runner import ProjectionRunner
from verdict.read_side.projections.projection import Projection
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.service.read_side import sync_skips
from verdict.service.supervisor import StepThread
from verdict.streaming.exactly_once.read_progress import bounds_of

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
def running(deployment: Deployment, engine: Engine) -> Iterator[Callable[..., LiveProjections]]:
    """Return what starts the read side (again), each group in a thread instead of a process."""
    started: list[LiveProjections] = []

    def start(
        declared: Sequence[Projection] | None = None, most: int = 1000, near: int = NEAR
    ) -> LiveProjections:
        every = some_projections() if declared is None else declared

        def open_tables() -> tuple[Engine, Sequence[Projection]]:
            create_read_side(engine, every)
            sync_skips(deployment.options, deployment.topics, engine)
            return engine, every

        def runner(name: str, names: Sequence[str]) -> StepThread:
            group = [one for one in every if one.name in names]
            database = open_database(deployment.url)
            kafka = deployment.kafka.settings
            return StepThread(
                name, ProjectionRunner(database, group, kafka, deployment.topics, most=most)
            )

        bounds = partial(bounds_of, deployment.kafka)
        live = LiveProjections(open_tables, bounds, deployment.topics, runner, near=near)
        started.append(live)
        live.start()
        return live

    yield start
    for live in started:
        live.stop()
