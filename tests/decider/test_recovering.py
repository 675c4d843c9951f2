"""A recovery as a whole, up to where it refuses; tests/e2e lets others succeed."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from verdict.configuration.settings import Settings
from verdict.decider.recovery.recovering import recover
from verdict.errors import VerdictError
from verdict.foundation.foundation import Foundation
from verdict.kafka.access import Kafka
from verdict.kafka.topic_check import TopicAdmin
from verdict.local.broker import EmbeddedBroker


def test_there_is_nothing_to_recover_before_the_first_start(
    spark: SparkSession, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    settings = Settings(deployment="recover-nothing", topic_prefix="recover-", data_dir=tmp_path)
    TopicAdmin({"bootstrap.servers": servers}, settings.topics).create_missing()
    ground = Foundation(
        spark=spark,
        kafka=Kafka(settings={"bootstrap.servers": servers}, transaction_timeout_s=15),
        source={"kafka.bootstrap.servers": servers},
        servers=servers,
        marker=None,
        broker=None,
    )

    with pytest.raises(VerdictError, match="there is nothing to recover") as refused:
        recover(ground, settings)

    assert refused.value.exit_code == 1
