"""Books of a module's own."""

from collections.abc import Iterator

import pytest

from tests.audit.books import Books
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture(scope="module")
def books(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Books]:
    """Return a deployment that all tests of a module share: use keys of your own."""
    name = request.module.__name__.rpartition(".")[2].replace("_", "-")
    books = Books(broker, name, tmp_path_factory.mktemp(name) / "data")
    yield books
    books.close()
