"""A broker that was killed comes back, whoever waits for it."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.service.bootstrap import BROKER, directory_of, start_kafka_runtime
from verdict.settings.discovery import AnnouncedService, announce, home_of
from verdict.settings.load import settings_alone

pytestmark = [pytest.mark.kafka, pytest.mark.process]


@pytest.mark.proves("F-01")
def test_a_broker_starts_while_a_client_waits_for_it(tmp_path: Path) -> None:
    """They say where it was, and only it can be there again."""
    settings = settings_alone(APPLICATION, data_dir=tmp_path, partitions=1)
    waiting = home_of(tmp_path, "dead-letters")
    waiting.mkdir(parents=True)
    announce(waiting, AnnouncedService(os.getpid(), "127.0.0.1:1", None, roles=("dead-letters",)))

    with ExitStack() as parts:
        laid = start_kafka_runtime(settings, parts, directory_of(tmp_path, (BROKER,)))

        assert laid.broker is not None
        assert laid.servers == laid.broker.bootstrap_servers
