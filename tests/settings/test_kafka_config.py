from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.settings.kafka import java_options, librdkafka_options, spark_options
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings


@pytest.fixture
def secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with everything that can be secured."""
    monkeypatch.chdir(tmp_path)
    for name in ("ca", "certificate", "key"):
        (tmp_path / f"{name}.pem").write_text(f"-- {name} --\n")
    return load_settings(
        APPLICATION,
        data_dir=tmp_path / "data",
        kafka_security_protocol="SASL_SSL",
        kafka_sasl_mechanism="SCRAM-SHA-256",
        kafka_user="ada",
        kafka_password='se"cr\\et',
        kafka_ca_file="ca.pem",
        kafka_certificate_file="certificate.pem",
        kafka_key_file="key.pem",
        kafka_key_password="key-secret",
        kafka={"client.id": "mine", "security.protocol": "SSL"},
        spark_kafka={"client.id": "mine"},
    )


def test_named_settings_become_those_of_librdkafka(secured: Settings) -> None:
    assert librdkafka_options(secured) == {
        "security.protocol": "SSL",  # what is passed through wins
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "ada",
        "sasl.password": 'se"cr\\et',
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "certificate.pem",
        "ssl.key.location": "key.pem",
        "ssl.key.password": "key-secret",
        "client.id": "mine",
    }


def test_named_settings_become_those_of_java_which_opens_no_file(secured: Settings) -> None:
    assert java_options(secured) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="ada" password="se\\"cr\\\\et";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "-- ca --\n",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "-- certificate --\n",
        "ssl.keystore.key": "-- key --\n",
        "ssl.key.password": "key-secret",
        "client.id": "mine",
    }


def test_spark_takes_the_options_of_java_with_a_prefix() -> None:
    assert spark_options(load_settings(APPLICATION)) == {"kafka.security.protocol": "PLAINTEXT"}
