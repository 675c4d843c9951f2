"""A mail server, and an outbox on each kind of database."""

from collections.abc import Iterator

import pytest

from tests.conftest import NewDatabase
from tests.mail.post_office import PostOffice, open_office
from tests.mail.workers import Workers


@pytest.fixture
def office() -> Iterator[PostOffice]:
    """Return a running mail server."""
    with open_office() as office:
        yield office


@pytest.fixture
def workers(new_database: NewDatabase, office: PostOffice) -> Iterator[Workers]:
    """Return an empty outbox."""
    workers = Workers(new_database(), office.url)
    yield workers
    workers.close()
