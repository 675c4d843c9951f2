"""One deployment per test, on the shared broker."""

from collections.abc import Iterator

import pytest

from tests.exactly_once.deployment import Deployment
from tests.kit.deployment import name_of
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture
def deployment(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[Deployment]:
    """Return a deployment named after the test, whose topics exist and are empty."""
    deployment = Deployment(broker.bootstrap_servers, name_of(request, 150))
    deployment.create_topics()
    yield deployment
    deployment.close()
