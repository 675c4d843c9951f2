"""Events on topics of a test, and an archive behind them."""

from collections.abc import Iterator

import pytest

from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.event_log.followable import Followable
from tests.kit.databases import ReadSide
from tests.kit.deployment import name_of
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.wire.topics import Topics


@pytest.fixture
def followable(
    broker: EmbeddedBroker, request: pytest.FixtureRequest, new_database: NewDatabase
) -> Iterator[Followable]:
    """Return events on topics of this test alone, and an archive on each kind of database."""
    read_side = ReadSide(new_database())
    yield Followable(broker, Topics(APPLICATION, prefix=f"{name_of(request)}."), read_side)
    read_side.close()
