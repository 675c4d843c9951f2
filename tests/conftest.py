"""What is expensive to start is started once per run."""

from collections.abc import Iterator

import pytest

from compose.local.broker import EmbeddedBroker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """Return a running Kafka; it is shared, so name topics after the test."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses the shared broker."""
    for item in items:
        if "broker" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.kafka)
