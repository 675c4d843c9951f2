"""Translates our settings of Kafka to the options of librdkafka, Java and Spark."""

from pydantic import SecretStr

from verdict.settings.settings import Settings

Options = dict[str, str]

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def librdkafka_options(settings: Settings) -> Options:
    """Return the options besides `bootstrap.servers`; those in the table `kafka` win."""
    options: Options = {"security.protocol": settings.kafka_security_protocol}
    if settings.kafka_user and settings.kafka_password:
        options |= {
            "sasl.mechanism": settings.kafka_sasl_mechanism,
            "sasl.username": settings.kafka_user,
            "sasl.password": settings.kafka_password.get_secret_value(),
        }
    if settings.kafka_ca_file:
        options["ssl.ca.location"] = str(settings.kafka_ca_file)
    if settings.kafka_certificate_file and settings.kafka_key_file:
        options |= {
            "ssl.certificate.location": str(settings.kafka_certificate_file),
            "ssl.key.location": str(settings.kafka_key_file),
        }
    if settings.kafka_key_password:
        options["ssl.key.password"] = settings.kafka_key_password.get_secret_value()
    return options | _plain(settings.kafka)


def java_options(settings: Settings) -> Options:
    """Return the options of a Java client; those in the table `spark_kafka` win.

    They have the content of files: executors on other machines cannot open them.
    """
    options: Options = {"security.protocol": settings.kafka_security_protocol}
    if settings.kafka_user and settings.kafka_password:
        options |= {
            "sasl.mechanism": settings.kafka_sasl_mechanism,
            "sasl.jaas.config": _jaas(
                settings.kafka_sasl_mechanism,
                settings.kafka_user,
                settings.kafka_password.get_secret_value(),
            ),
        }
    if settings.kafka_ca_file:
        options |= {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": settings.kafka_ca_file.read_text(),
        }
    if settings.kafka_certificate_file and settings.kafka_key_file:
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": settings.kafka_certificate_file.read_text(),
            "ssl.keystore.key": settings.kafka_key_file.read_text(),
        }
    if settings.kafka_key_password:
        options["ssl.key.password"] = settings.kafka_key_password.get_secret_value()
    return options | _plain(settings.spark_kafka)


def spark_options(settings: Settings) -> Options:
    """Return the options of Spark's Kafka source or sink besides the servers and the topics."""
    return {f"kafka.{name}": value for name, value in java_options(settings).items()}


def _plain(options: dict[str, SecretStr]) -> Options:
    return {name: value.get_secret_value() for name, value in options.items()}


def _jaas(mechanism: str, user: str, password: str) -> str:
    module = PLAIN if mechanism == "PLAIN" else SCRAM
    return f"{module} required username={_quoted(user)} password={_quoted(password)};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
