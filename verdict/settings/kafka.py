"""Kafka security is set once, by our names; here it becomes librdkafka's and Java's."""

from pydantic import SecretStr

from verdict.settings.settings import Settings

Options = dict[str, str]

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def librdkafka_options(settings: Settings) -> Options:
    """Return what every client of librdkafka needs besides `bootstrap.servers`.

    The settings under `kafka` come last and win.
    """
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
    """Return the same for a Java client, by Java's names.

    It has what is in the files, and not where they lie: on a cluster, executors on other machines
    open none. The settings under `spark_kafka` win.
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
