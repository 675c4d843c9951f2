"""A read side per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.projections.event_log import EventLog
from tests.projections.read_side import ReadSide


@pytest.fixture
def read_side(tmp_path: Path) -> Iterator[ReadSide]:
    """Return a read side with all projections and nothing in them."""
    read_side = ReadSide(tmp_path / "read.db")
    yield read_side
    read_side.close()


@pytest.fixture
def log() -> EventLog:
    """Return an empty `position.events`."""
    return EventLog()
