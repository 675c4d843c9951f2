"""A deployment of its own for each module."""

import pytest

from tests.bootstrap.world import World
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture(scope="module")
def world(
    broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> World:
    prefix = f"{request.module.__name__.rpartition('.')[-1]}."
    return World(broker, str(tmp_path_factory.mktemp("world")), prefix)
