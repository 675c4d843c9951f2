"""A broker that a data directory brings along is there for who mends its topics."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from tests.application import APPLICATION
from verdict.adapters.kafka.topic_drift import TopicSettingsError
from verdict.service.bootstrap import KafkaRuntime, directory_of, start_kafka_runtime
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings

pytestmark = [pytest.mark.kafka, pytest.mark.process, pytest.mark.thorough]


@pytest.mark.proves("U-02")
def test_the_embedded_broker_runs_where_topics_differ_and_roles_that_need_them_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_alone(APPLICATION, data_dir=tmp_path, partitions=1)
    with ExitStack() as parts:
        lay(settings, "broker", parts)
    other = settings.model_copy(update={"partitions": 2})  # as if somebody had taken some away

    with ExitStack() as parts:
        servers = lay(other, "broker", parts).servers
        assert "order.events: partitions is 1, must be 2" in caplog.text
        assert "answers while `verdict run broker` runs" in caplog.text
        with pytest.raises(TopicSettingsError):
            lay(other.model_copy(update={"bootstrap_servers": servers}), "dead-letters", parts)
        fix(servers, [topic.name for topic in other.topics.all() if topic.partitions == 2])
        lay(other.model_copy(update={"bootstrap_servers": servers}), "lake", parts)


def lay(settings: Settings, role: str, parts: ExitStack) -> KafkaRuntime:
    return start_kafka_runtime(settings, parts, directory_of(settings.data_dir, (role,)))


def fix(servers: str, topics: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for answer in admin.create_partitions([NewPartitions(one, 2) for one in topics]).values():
        answer.result(30)
