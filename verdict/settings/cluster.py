"""What a Spark cluster is told of our settings, and what it may not be told in clear."""

import re
from collections.abc import Iterator

from verdict.settings.load import InvalidSettingsError
from verdict.settings.settings import Settings

SECRET = re.compile(
    r"(?i)secret|password|passphrase|token|jaas|[.]key([.]pem)?$|keystore|oauthbearer[.]config$"
)
LOOPBACK = re.compile(r"(^|[/,])(127[.]|localhost\b|\[::1\])")
SEALED = ("network.crypto.enabled", "ssl.rpc.enabled")  # either
DEMANDED = ("authenticate", "io.encryption.enabled")  # both: tasks are spilled to disks, too


def cluster_options(settings: Settings) -> dict[str, str]:
    """Return what was set for Spark, under Spark's names.

    Raises:
        InvalidSettingsError: Secrets would travel to the executors in clear, or to anybody who
            asks; or the master is named in the wrong place.
    """
    if "master" in settings.spark:
        raise InvalidSettingsError(
            "spark.master is set in the table `spark`, past all that a cluster is asked for: name "
            "it with the setting spark_master"
        )
    options = {f"spark.{name}": value.get_secret_value() for name, value in settings.spark.items()}
    if settings.spark_master is None:
        return options
    _require_encryption(settings, options)
    return options


def require_reachable_kafka(settings: Settings) -> None:
    """Return if executors can reach Kafka as far as its name tells.

    Raises:
        InvalidSettingsError: It is the embedded one, or on loopback, and executors are elsewhere.
    """
    master, servers = settings.spark_master, settings.bootstrap_servers
    if master is None or (LOOPBACK.search(master) and servers is not None):
        return
    if servers is None:
        raise InvalidSettingsError(
            f"spark_master is {master} and bootstrap_servers is not set: the embedded broker is "
            "for this machine alone; name your Kafka"
        )
    if LOOPBACK.search(servers):
        raise InvalidSettingsError(
            f"bootstrap_servers is {servers}, which each executor of {master} would look for on "
            "its own machine: name Kafka as all machines can reach it"
        )


def _require_encryption(settings: Settings, options: dict[str, str]) -> None:
    secrets = sorted(_secrets(settings))
    on = {name for name in (*SEALED, *DEMANDED) if options.get(f"spark.{name}") == "true"}
    if secrets and not (on.issuperset(DEMANDED) and on.intersection(SEALED)):
        raise InvalidSettingsError(
            f"{', '.join(secrets)} would travel to the executors of {settings.spark_master} in "
            "clear: set authenticate = true with its authenticate.secret, io.encryption.enabled = "
            f"true and {' or '.join(SEALED)} = true, in the table `spark`, and the same on the "
            "cluster"
        )


def _secrets(settings: Settings) -> Iterator[str]:
    """Yield the settings that tasks take along to be let in by Kafka."""
    if settings.kafka_password is not None:
        yield "kafka_password"
    if settings.kafka_key_file is not None:  # what is in it travels
        yield "kafka_key_file"
    if settings.kafka_key_password is not None:
        yield "kafka_key_password"
    for table, options in (("kafka", settings.kafka), ("spark_kafka", settings.spark_kafka)):
        yield from (f"{table}.{name}" for name in options if SECRET.search(name))
