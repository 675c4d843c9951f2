from pathlib import Path

import pytest

from verdict.configuration.kafka import java_options, librdkafka_options, spark_options
from verdict.configuration.loading import load_settings
from verdict.configuration.settings import Settings


@pytest.fixture
def secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with everything that can be secured."""
    monkeypatch.chdir(tmp_path)
    for name in ("ca", "certificate", "key"):
        (tmp_path / f"{name}.pem").write_text(f"-- {name} --\n")
    return load_settings(
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


def test_named_settings_become_those_of_java(secured: Settings, tmp_path: Path) -> None:
    options = java_options(secured)

    keystore = Path(options.pop("ssl.keystore.location"))
    assert keystore.read_text() == "-- key --\n-- certificate --\n"
    assert keystore.stat().st_mode & 0o777 == 0o600
    assert options == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="ada" password="se\\"cr\\\\et";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.key.password": "key-secret",
        "client.id": "mine",
    }


def test_certificate_and_key_in_one_file_stay_there(tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text("-- both --\n")
    settings = load_settings(
        kafka_security_protocol="SSL", kafka_certificate_file=both, kafka_key_file=both
    )

    assert java_options(settings)["ssl.keystore.location"] == str(both)


def test_spark_takes_the_options_of_java_with_a_prefix() -> None:
    assert spark_options(load_settings()) == {"kafka.security.protocol": "PLAINTEXT"}
