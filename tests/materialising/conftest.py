"""A deployment per test."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from compose.local.broker import EmbeddedBroker
from tests.materialising.world import World


@pytest.fixture
def world(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[World]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[5:55]
    world = World(broker, name, f"sqlite:///{tmp_path / 'read.db'}", tmp_path / "data")
    yield world
    world.close()
