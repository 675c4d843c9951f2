"""Translates our settings of Kafka to the options of librdkafka, Java and Spark."""

from pydantic import SecretStr

from verdict.settings.settings import Settings

Options = dict[str, str]

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def librdkafka_options(settings: Settings) -> Options:
    """Return the options besides `bootstrap.servers`; those in the table `kafka` win."""
    options = _security(settings)
    if settings.kafka_user and settings.kafka_password:
        options |= {
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
    return options | _plain(settings.kafka)


def java_options(settings: Settings) -> Options:
    """Return the options of a Java client; those in the table `spark_kafka` win.

    They have the content of files: executors on other machines cannot open them.
    """
    options = _security(settings)
    if settings.kafka_user and settings.kafka_password:
        module = PLAIN if settings.kafka_sasl_mechanism == "PLAIN" else SCRAM
        user = _quoted(settings.kafka_user)
        password = _quoted(settings.kafka_password.get_secret_value())
        options["sasl.jaas.config"] = f"{module} required username={user} password={password};"
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
    return options | _plain(settings.spark_kafka)


def spark_options(settings: Settings) -> Options:
    """Return the options of Spark's Kafka source or sink besides the servers and the topics."""
    return {f"kafka.{name}": value for name, value in java_options(settings).items()}


def _security(settings: Settings) -> Options:
    """Return the options that both kinds of clients have."""
    options: Options = {"security.protocol": settings.kafka_security_protocol}
    if settings.kafka_user and settings.kafka_password:
        options["sasl.mechanism"] = settings.kafka_sasl_mechanism
    if settings.kafka_key_password:
        options["ssl.key.password"] = settings.kafka_key_password.get_secret_value()
    return options


def _plain(options: dict[str, SecretStr]) -> Options:
    return {name: value.get_secret_value() for name, value in options.items()}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
