"""What a Spark cluster is told of our settings, and what it may not be told in clear."""

import re
from collections.abc import Iterator

from verdict.application import path_of_the_application
from verdict.application_name import VARIABLE
from verdict.configuration.loading import SettingsInvalid
from verdict.configuration.settings import Settings

SECRET = re.compile(r"(?i)secret|password|passphrase|token|jaas|[.]key$|keystore")
SEALED = ("network.crypto.enabled", "ssl.rpc.enabled")  # either


def cluster_options(settings: Settings) -> dict[str, str]:
    """Return what was set for Spark, under Spark's names, and which application executors load.

    Raises:
        SettingsInvalid: Secrets would travel to the executors in clear, or to anybody who asks.
    """
    options = {f"spark.{name}": value.get_secret_value() for name, value in settings.spark.items()}
    if settings.spark_master is None:
        return options
    _refuse_secrets_in_clear(settings, options)
    return {f"spark.executorEnv.{VARIABLE}": path_of_the_application()} | options


def _refuse_secrets_in_clear(settings: Settings, options: dict[str, str]) -> None:
    secrets = sorted(_secrets(settings))
    sealed = any(options.get(f"spark.{name}") == "true" for name in SEALED)
    if secrets and not (options.get("spark.authenticate") == "true" and sealed):
        raise SettingsInvalid(
            f"{', '.join(secrets)} would travel to the executors of {settings.spark_master} in "
            "clear: set authenticate = true with its authenticate.secret, and "
            f"{' or '.join(SEALED)} = true, in the table `spark`, and the same on the cluster"
        )


def _secrets(settings: Settings) -> Iterator[str]:
    """Yield the settings that tasks take along to be let in by Kafka."""
    if settings.kafka_password is not None:
        yield "kafka_password"
    if settings.kafka_key_password is not None:
        yield "kafka_key_password"
    for table, options in (("kafka", settings.kafka), ("spark_kafka", settings.spark_kafka)):
        yield from (f"{table}.{name}" for name in options if SECRET.search(name))
