"""Checks at the start whether settings can work together."""

import math
import re
from collections.abc import Iterator
from shutil import disk_usage

from verdict.errors import VerdictError
from verdict.settings.load import InvalidSettingsError
from verdict.settings.settings import Settings

SECRET = re.compile(
    r"(?i)secret|password|passphrase|token|jaas|[.]key([.]pem)?$|keystore|oauthbearer[.]config$"
)
LOOPBACK = re.compile(r"(^|[/,])(127[.]|localhost\b|\[::1\])")
SEALED = ("network.crypto.enabled", "ssl.rpc.enabled")  # either
DEMANDED = ("authenticate", "io.encryption.enabled")  # both: tasks are spilled to disks, too

MIB = 2**20
COPIES = 3  # on the disk: Spark's shuffle, undecided commands, decided ones
# One producer and a broker on the same two cores did more. A batch that takes longer than its
# transaction may would be tried again at every start, without end.
PUBLISHED_PER_S = 100 * MIB
LONGEST_S = 900  # the longest transaction of brokers by default


def cluster_options(settings: Settings) -> dict[str, str]:
    """Return what was set for Spark, under Spark's names."""
    if "master" in settings.spark:
        raise InvalidSettingsError(
            "spark.master is set in the table `spark`, past all that a cluster is asked for: name "
            "it with the setting spark_master"
        )
    options = {f"spark.{name}": value.get_secret_value() for name, value in settings.spark.items()}
    if settings.spark_master is not None:
        _require_encryption(settings, options)
    return options


def require_reachable_kafka(settings: Settings) -> None:
    """Return unless Kafka is on this machine and the executors are elsewhere."""
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


class BatchSizeError(VerdictError):
    """The largest batch could never be published."""

    exit_code = 2


def transaction_timeout_s(settings: Settings) -> int:
    """Return how long a transaction may take: as set, or longer if a full batch needs it."""
    return max(settings.transaction_timeout_s, math.ceil(_whole(settings) / PUBLISHED_PER_S))


def check_batch_size(settings: Settings) -> None:
    """Return if a full batch of the largest commands can be published, and fits on the disk.

    Memory does not limit it: workers decide a batch in slices, and hand it over in files.
    """
    rows, limit, whole = settings.max_rows_per_batch, settings.max_command_bytes, _whole(settings)
    product = f"max_rows_per_batch {rows} x max_command_bytes {limit} = {_mib(whole)} a batch"
    seconds = math.ceil(whole / PUBLISHED_PER_S)
    if seconds > LONGEST_S:
        fitting = LONGEST_S * PUBLISHED_PER_S
        raise BatchSizeError(
            f"{product}, and publishing that takes about {seconds} s in one transaction, of which "
            f"Kafka allows {LONGEST_S}: lower max_rows_per_batch to {max(fitting // limit, 1)} or "
            f"max_command_bytes to {max(fitting // rows, 1)}"
        )
    folder = settings.durable_location
    if isinstance(folder, str):
        return  # the free space of an object store is unknown
    folder.mkdir(parents=True, exist_ok=True)
    free = disk_usage(folder).free
    if whole * COPIES > free:
        raise BatchSizeError(
            f"{product}, and {folder} must hold that {COPIES} times while it is "
            f"decided: {_mib(whole * COPIES)} are needed, {_mib(free)} are free; make room, lower "
            "max_rows_per_batch or lower max_command_bytes"
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
    """Yield the settings with secrets that tasks carry to executors."""
    named = ("kafka_password", "kafka_key_file", "kafka_key_password")  # with the file's content
    yield from (name for name in named if getattr(settings, name) is not None)
    for table in ("kafka", "spark_kafka"):
        yield from (f"{table}.{name}" for name in getattr(settings, table) if SECRET.search(name))


def _whole(settings: Settings) -> int:
    return settings.max_rows_per_batch * settings.max_command_bytes


def _mib(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"
