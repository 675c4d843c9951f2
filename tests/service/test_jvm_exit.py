from pathlib import Path

import pytest
from confluent_kafka import Producer
from pydantic import SecretStr

from tests.application import APPLICATION
from tests.kit.databases import ReadSide
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.oversized import OversizedRecord
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.model.source import Source
from verdict.service import jvm_exit
from verdict.settings.load import load_settings

NOWHERE = KafkaConfig(settings={"bootstrap.servers": "127.0.0.1:1"})


def said(tmp_path: Path, code: int, *found: OversizedRecord) -> str:
    """Return what is said of a JVM that ended with `code` when `found` is what came next."""
    settings = load_settings(APPLICATION, data_dir=tmp_path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(jvm_exit, "_oversized", lambda *_: [*found])
        return str(jvm_exit.jvm_ended(code, settings, NOWHERE, tmp_path / "spark.log"))


def test_a_jvm_that_somebody_ended_is_not_taken_for_one_that_ran_out_of_memory(
    tmp_path: Path,
) -> None:
    assert said(tmp_path, -9, OversizedRecord(Source("order.commands", 0, 17), 4 * 10**8)) == (
        "the JVM of Spark ended with -9: see whether the system ended it for want of memory, and "
        f"the end of {tmp_path}/spark.log, then start again; nothing is lost"
    )
    assert said(tmp_path, 52).startswith("the JVM of Spark ended with 52: see whether")


@pytest.mark.proves("C-11")
def test_records_that_it_died_of_are_named_with_the_way_past_them(tmp_path: Path) -> None:
    giants = (
        OversizedRecord(Source("order.commands", 0, 17), 4 * 10**8),
        OversizedRecord(Source("retry", 1, 2), None),
    )
    assert said(tmp_path, 52, *giants) == (
        "the JVM of Spark ran out of memory (it ended with 52): order.commands:0:17 unpacks to "
        "400,000,000 bytes; retry:1:2 unpacks to more than a client takes; each start would meet "
        "that again, nothing is lost: skip it with `verdict skip "
        "order.commands:0:17 retry:1:2 --reason '…'`, or give the JVM several times that "
        "with driver_memory, now 1g"
    )


def test_no_way_is_offered_that_cannot_be_gone(tmp_path: Path) -> None:
    assert said(tmp_path, 52, OversizedRecord(Source("share-holders", 0, 17), 4 * 10**8)).endswith(
        "share-holders:0:17 unpacks to 400,000,000 bytes; each start would meet that again, "
        "nothing is lost: give the JVM several times that with driver_memory, now 1g"
    )


@pytest.mark.proves("C-11")
def test_records_that_only_read_models_were_about_to_read_are_found_too(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    servers = broker.bootstrap_servers
    settings = load_settings(
        APPLICATION,
        deployment="dying",
        topic_prefix="dying-",
        partitions=2,
        data_dir=tmp_path,
        bootstrap_servers=servers,
        database_url=SecretStr(f"sqlite:///{tmp_path / 'verdict.db'}"),
    )
    TopicAdmin({"bootstrap.servers": servers}, settings.topics).create_missing()
    ReadSide(f"sqlite:///{tmp_path / 'verdict.db'}").close()
    [states] = settings.topics.states
    sender = Producer(
        {"bootstrap.servers": servers, "compression.type": "gzip", "message.max.bytes": 10**8}
    )
    sender.produce(states, b"\0" * 20_000_000, b"3", partition=1)
    assert sender.flush(30) == 0

    ended = jvm_exit.jvm_ended(
        52, settings, KafkaConfig(settings={"bootstrap.servers": servers}), tmp_path
    )

    assert f"{states}:1:0 unpacks to 20,000,001 bytes; each start would meet" in str(ended)
    assert str(ended).endswith("several times that with driver_memory, now 1g")
