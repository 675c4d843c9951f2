from collections.abc import Iterator

import pytest

from tests.conftest import NewDatabase
from tests.outbox.database import OutboxDatabase


@pytest.fixture
def database(new_database: NewDatabase) -> Iterator[OutboxDatabase]:
    """Return an empty outbox."""
    database = OutboxDatabase(new_database())
    yield database
    database.close()
