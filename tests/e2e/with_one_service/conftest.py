"""A broker, a deployment on it and its service, for all tests of this folder, in their order.

They may do to the service what they like: whoever needs it next starts it again. The folder is the
last of its tier, so that nothing else waits for processors that an idle service takes.
"""

from collections.abc import Iterator

import pytest

from tests.kit.service import Deployment, Kept, Process, kept
from verdict.adapters.local.broker import EmbeddedBroker

TOKEN = "a token of sixteen"


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A broker that comes and goes; to the service it is somebody else's."""
    with EmbeddedBroker(tmp_path_factory.mktemp("one-service") / "broker") as broker:
        yield broker


@pytest.fixture(scope="session")
def deployment(own: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """The deployment, in which all that happened before still counts."""
    found = Deployment(own.bootstrap_servers, "one", tmp_path_factory.mktemp("one") / "d")
    found.environment |= {"VERDICT_SLOW_BATCH_S": "3", "VERDICT_LAKE_TRIGGER_MS": "500"}
    found.environment |= {"VERDICT_PAGE": "true", "VERDICT_PAGE_TOKEN": TOKEN}
    return found


@pytest.fixture(scope="session")
def kept_service(deployment: Deployment) -> Iterator[Kept]:
    """Its service, for who ends it."""
    with kept(deployment) as found:
        yield found


@pytest.fixture
def service(kept_service: Kept) -> Process:
    """Its service, which runs."""
    return kept_service.running()
