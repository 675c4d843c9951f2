"""The topics of one test."""

import pytest

from tests.application import APPLICATION
from tests.kit.deployment import name_of
from tests.topics import create
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.reactions.policies.reaction import reactions_added, reactions_query
from verdict.wire.topics import Topics


@pytest.fixture
def topics(broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Topics:
    """Return topics of this test alone; they are there."""
    name = name_of(request, 60)
    topics = Topics(APPLICATION, deployment=name, prefix=f"{name}.", partitions=2)
    query = reactions_query(reactions_added(topics, {}))
    written = {*topics.every_commands(), query.progress_topic, topics.skips}
    create(broker.bootstrap_servers, topics, query.topics | written)
    return topics
