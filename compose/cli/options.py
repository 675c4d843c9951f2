"""Options that verbs share, and the settings that come of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from compose.configuration.loading import load_settings
from compose.configuration.settings import Settings
from compose.exactly_once.kafka import Kafka
from compose.kafka.config import Options, librdkafka_options
from compose.service import bootstrap_servers
from schemas.registry import aggregate_types


def known_aggregate(name: str | None) -> str | None:
    """Return the name of an aggregate type, or None if none was given.

    Raises:
        BadParameter: There is no such aggregate.
    """
    if name is not None and name not in aggregate_types():
        known = ", ".join(aggregate_types())
        raise typer.BadParameter(f"no aggregate {name!r}: there are {known}")
    return name


DataDir = Annotated[
    Path | None,
    typer.Option(
        help="Data directory of the service.", show_default="VERDICT_DATA_DIR or per user"
    ),
]
BootstrapServers = Annotated[
    str | None, typer.Option(help="Kafka.", show_default="that of the running service")
]
DatabaseUrl = Annotated[
    str | None, typer.Option(help="Read side.", show_default="that of the running service")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON: one object, or one per line.")]
AggregateType = Annotated[
    str, typer.Argument(callback=known_aggregate, help="Type of the aggregate, such as order.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the aggregate.")]


def settings_of(**flags: Any) -> Settings:
    """Return the settings, the flags of this call first; None is a flag that was not given."""
    return load_settings(**flags)


def kafka_options(settings: Settings) -> Options:
    """Return librdkafka's options with the servers.

    Raises:
        Unreachable: No Kafka is set and no service runs.
    """
    return librdkafka_options(settings) | {"bootstrap.servers": bootstrap_servers(settings)}


def kafka_of(settings: Settings) -> Kafka:
    """Return the way to Kafka for the parts that read markers."""
    return Kafka(
        settings=kafka_options(settings), transaction_timeout_s=settings.transaction_timeout_s
    )
