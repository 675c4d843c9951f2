"""A read side per test."""

from collections.abc import Iterator

import pytest

from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog


@pytest.fixture
def read_side(new_database: NewDatabase) -> Iterator[ReadSide]:
    """Return a read side with all projections and nothing in them, on each database in turn."""
    read_side = ReadSide(new_database())
    yield read_side
    read_side.close()


@pytest.fixture
def log() -> EventLog:
    """Return an empty `position.events`."""
    return EventLog()
