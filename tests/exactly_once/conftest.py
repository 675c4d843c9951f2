"""One deployment per test, on the shared broker."""

import re
from collections.abc import Iterator

import pytest

from tests.exactly_once.deployment import Deployment
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture
def deployment(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    """Return a deployment named after the test, whose topics exist and are empty."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:150]
    deployment = Deployment(broker.bootstrap_servers, name)
    deployment.create_topics()
    yield deployment
    deployment.close()
