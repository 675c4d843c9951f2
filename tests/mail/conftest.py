"""A mail server, and an outbox on each kind of database."""

from collections.abc import Iterator

import pytest

from tests.conftest import NewDatabase
from tests.mail.desk import Desk
from tests.mail.post_office import PostOffice, open_office


@pytest.fixture
def office() -> Iterator[PostOffice]:
    """Return a running mail server."""
    with open_office() as office:
        yield office


@pytest.fixture
def desk(new_database: NewDatabase, office: PostOffice) -> Iterator[Desk]:
    """Return an empty outbox."""
    desk = Desk(new_database(), office.url)
    yield desk
    desk.close()
