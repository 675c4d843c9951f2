"""One desk per test, on the shared broker."""

from collections.abc import Iterator

import pytest

from tests.conftest import NewDatabase
from tests.dead_letters.desk import Desk
from tests.kit.deployment import name_of
from tests.postgresql import Server
from verdict.adapters.local.broker import EmbeddedBroker


@pytest.fixture
def desk(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, new_database: NewDatabase
) -> Iterator[Desk]:
    """Return topics of this test alone, on each kind of database."""
    desk = Desk(broker.bootstrap_servers, prefix(request), new_database())
    yield desk
    desk.close()


@pytest.fixture
def postgresql_desk(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, postgresql: Server
) -> Iterator[Desk]:
    """Return topics of this test alone, on PostgreSQL."""
    with postgresql.database() as url:
        desk = Desk(broker.bootstrap_servers, prefix(request), url)
        yield desk
        desk.close()


def prefix(request: pytest.FixtureRequest) -> str:
    """Return what stands before the names of a test's topics."""
    return f"{name_of(request)}."
