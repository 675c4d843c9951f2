"""A deployment per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.as_of.world import World, deployment_name
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture
def world(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[World]:
    name = deployment_name(request.node.name)
    world = World(broker, name, f"sqlite:///{tmp_path / 'read.db'}", tmp_path / "data")
    yield world
    world.close()
