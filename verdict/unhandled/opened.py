"""Opens the read side of a deployment for repairs."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.configuration.found import database_url, kafka_options
from verdict.configuration.settings import Settings
from verdict.database.address import file_of, one_line, shown
from verdict.errors import Unreachable, VerdictError
from verdict.event_log.decisions import write_decisions
from verdict.kafka.log import KafkaLog
from verdict.projection.applier import database_failed
from verdict.projection.database import opened
from verdict.projection.declared import declared
from verdict.unhandled.events import HeldAggregates
from verdict.unhandled.letters import ParkedLetters
from verdict.unhandled.records import StoppingRecords


@contextmanager
def blocked_aggregates(settings: Settings) -> Iterator[HeldAggregates]:
    """Open the aggregates that projections hold.

    Raises:
        Unreachable: There is no read side, or it does not answer.
    """
    with _read_side(settings) as engine:
        yield HeldAggregates(engine, declared(settings.chosen))


@contextmanager
def stopping_records(settings: Settings) -> Iterator[StoppingRecords]:
    """Open the records at which projections stopped. Raises as above."""
    with _read_side(settings) as engine:
        yield StoppingRecords(
            engine,
            lambda: KafkaLog(kafka_options(settings)),
            lambda made: write_decisions(kafka_options(settings), settings.topics, made),
        )


@contextmanager
def dead_letters(settings: Settings) -> Iterator[ParkedLetters]:
    """Open the dead letters. Raises as above."""
    with _read_side(settings) as engine:
        yield ParkedLetters(engine, settings.topics)


@contextmanager
def _read_side(settings: Settings) -> Iterator[Engine]:
    url = database_url(settings)
    if (file := file_of(url)) is not None and not file.is_file():
        raise Unreachable(
            f"there is no read side at {file}: is it the right data directory, and did `verdict "
            "up` start once?"
        )
    with opened(url) as engine:
        try:
            yield engine
        except DBAPIError as error:
            problem = f"{shown(engine.url)}: {one_line(error.orig)}"
            raise (Unreachable if database_failed(error) else VerdictError)(problem) from error
