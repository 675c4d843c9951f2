"""What a cluster is told, and that no secret travels to it in clear."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.application import APPLICATION
from verdict.adapters.spark.query_settings import local_path
from verdict.adapters.storage.folders import durable_dir
from verdict.adapters.storage.object_store import hadoop_options
from verdict.errors import EnvironmentIncompleteError
from verdict.service.role_set import with_kafka
from verdict.settings.checks import cluster_options, require_reachable_kafka
from verdict.settings.discovery import AnnouncedService, announce
from verdict.settings.load import InvalidSettingsError, load_settings
from verdict.write_side.state.lmdb_cache import executor_folder

MASTER = "spark://host:7077"
LOGIN = {
    "kafka_security_protocol": "SASL_SSL",
    "kafka_user": "ada",
    "kafka_password": "secret",
}
CERTIFICATE = {
    "kafka_security_protocol": "SSL",
    "kafka_certificate_file": __file__,  # any file: it is not opened
    "kafka_key_file": __file__,
}
ON_DISK = {"io.encryption.enabled": "true"}
AUTHENTICATED = ON_DISK | {"authenticate": "true", "authenticate.secret": "hush"}


def test_a_table_of_verdict_toml_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("verdict.toml").write_text("[spark]\nexecutor.memory = '2g'\nui.enabled = true\n")

    for master in (None, MASTER):
        told = cluster_options(
            load_settings(APPLICATION, spark_master=master, kafka={"socket.timeout.ms": 9000})
        )
        assert told == {"spark.executor.memory": "2g", "spark.ui.enabled": "true"}


def test_this_machine_is_no_master() -> None:
    with pytest.raises(InvalidSettingsError, match=r"'local\[2\]' is this machine: leave it unset"):
        load_settings(APPLICATION, spark_master="local[2]")


@pytest.mark.parametrize("here", [None, MASTER])
def test_a_master_is_named_where_all_that_it_needs_is_asked_for(here: str | None) -> None:
    settings = load_settings(APPLICATION, spark_master=here, spark={"master": MASTER})

    with pytest.raises(InvalidSettingsError, match="name it with the setting spark_master"):
        cluster_options(settings)


@pytest.mark.parametrize(
    ("secret", "named"),
    [
        (LOGIN, "kafka_password"),
        (CERTIFICATE, "kafka_key_file"),
        ({"kafka": {"ssl.key.password": "x"}}, "kafka.ssl.key.password"),
        ({"kafka": {"ssl.key.pem": "x"}}, "kafka.ssl.key.pem"),
        ({"kafka": {"sasl.oauthbearer.config": "x"}}, "kafka.sasl.oauthbearer.config"),
        ({"spark_kafka": {"sasl.jaas.config": "x"}}, "spark_kafka.sasl.jaas.config"),
    ],
)
def test_secrets_do_not_travel_in_clear(secret: dict[str, Any], named: str) -> None:
    for sealed in (
        {},
        AUTHENTICATED,
        ON_DISK | {"network.crypto.enabled": "true"},
        {"authenticate": "true", "network.crypto.enabled": "true"},
    ):
        settings = load_settings(APPLICATION, spark_master=MASTER, spark=sealed, **secret)
        with pytest.raises(InvalidSettingsError) as told:
            cluster_options(settings)
        assert str(told.value).startswith(f"{named} would travel to the executors of")
        assert "secret'" not in str(told.value)
        assert "hush" not in str(told.value)


@pytest.mark.parametrize("sealed", ["network.crypto.enabled", "ssl.rpc.enabled"])
def test_secrets_travel_only_authenticated_and_encrypted(sealed: str) -> None:
    settings = load_settings(
        APPLICATION, spark_master=MASTER, spark=AUTHENTICATED | {sealed: "true"}, **LOGIN
    )

    assert cluster_options(settings)["spark.authenticate.secret"] == "hush"


def test_copies_of_shards_lie_in_the_executors_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/disk1/executor-7,/disk2/executor-7")
    assert executor_folder() == Path("/disk1/executor-7/verdict-state")
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    monkeypatch.setenv("LOCAL_DIRS", "/yarn/container-3")
    assert executor_folder() == Path("/yarn/container-3/verdict-state")


@pytest.mark.parametrize(
    ("setting", "named", "said"),
    [
        *(
            ("shared_dir", named, f"'{named}' is no folder that all machines see")
            for named in ("hdfs://h/v", "file:///v", "s3://b/x", "s3a://UP", "s3a://b/a b")
        ),
        ("shared_dir", "s3a://b//x", "or s3a://BUCKET or s3a://BUCKET/FOLDER of letters"),
        ("lake_dir", "s3a://bucket/lake", "'s3a://bucket/lake' is no folder of this machine"),
        ("data_dir", "file:///v", "'file:///v' is no folder of this machine"),
    ],
)
def test_what_is_no_folder_is_refused(setting: str, named: str, said: str) -> None:
    with pytest.raises(InvalidSettingsError, match=said):
        load_settings(APPLICATION, **{setting: named})


@pytest.mark.parametrize("servers", ["127.0.0.1:9092", "kafka:9092,localhost:9092", "[::1]:9092"])
def test_executors_elsewhere_cannot_reach_a_kafka_of_this_machine(servers: str) -> None:
    settings = load_settings(APPLICATION, spark_master=MASTER, bootstrap_servers=servers)

    with pytest.raises(InvalidSettingsError, match="name Kafka as all machines can reach it"):
        require_reachable_kafka(settings)


@pytest.mark.parametrize(
    ("master", "servers"),
    [
        (None, None),
        (None, "localhost:9092"),
        (MASTER, "kafka:9092"),
        ("spark://127.0.0.1:7077", "127.0.0.1:9092"),  # all of it on one machine
    ],
)
def test_what_they_can_reach_is_taken(master: str | None, servers: str | None) -> None:
    require_reachable_kafka(
        load_settings(APPLICATION, spark_master=master, bootstrap_servers=servers)
    )


@pytest.mark.parametrize("role", ["broker", "decider"])
def test_the_embedded_broker_is_refused_also_where_it_runs(tmp_path: Path, role: str) -> None:
    settings = load_settings(APPLICATION, spark_master=MASTER, data_dir=tmp_path)
    announce(tmp_path, AnnouncedService(os.getpid(), "127.0.0.1:9092", None, roles=("broker",)))

    with pytest.raises(InvalidSettingsError, match="the embedded broker is for this machine alone"):
        with_kafka(settings, role)


@pytest.mark.parametrize("named", ["s3a://bucket", "s3a://a.bucket-1/of/many/", "s3a://b-1/x_y.z"])
def test_what_all_machines_share_may_be_in_an_object_store(named: str) -> None:
    settings = load_settings(APPLICATION, shared_dir=named, data_dir=Path("/data"))

    assert settings.in_object_store
    assert str(durable_dir(settings) / "decider") == f"{named.rstrip('/')}/decider"
    assert local_path(durable_dir(settings) / "decider") == f"{named.rstrip('/')}/decider"
    assert settings.lake_folder == Path("/data/lake")


def test_without_the_package_for_a_store_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "verdict.adapters.storage.object_store", None)
    settings = load_settings(APPLICATION, shared_dir="s3a://bucket")

    with pytest.raises(EnvironmentIncompleteError, match=r"pip install 'verdict-cqrs\[s3\]'"):
        durable_dir(settings)


def test_spark_finds_the_store_that_aws_s_environment_names() -> None:
    options = hadoop_options({"AWS_ENDPOINT_URL": "http://store:8333", "AWS_REGION": "eu-1"})

    assert options["spark.hadoop.fs.s3a.endpoint"] == "http://store:8333"
    assert options["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "false"
    assert options["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert options["spark.hadoop.fs.s3a.endpoint.region"] == "eu-1"
    assert options["spark.executorEnv.AWS_ENDPOINT_URL"] == "http://store:8333"
    assert not [name for name in hadoop_options({}) if "endpoint" in name]
