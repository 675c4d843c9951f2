"""Opens the read side of a deployment for repairs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError

from verdict.configuration.found import database_url, kafka_options
from verdict.configuration.settings import Settings
from verdict.database.address import file_of, masked_url, one_line_error
from verdict.errors import UnreachableError, VerdictError
from verdict.event_log.decisions import write_skips
from verdict.kafka.log import KafkaLog
from verdict.projection.applier import database_failed
from verdict.projection.database import opened
from verdict.projection.declared import declared
from verdict.unhandled.events import HeldAggregates
from verdict.unhandled.letters import ParkedLetters
from verdict.unhandled.records import StoppingRecords
from verdict.wire.decision import Decision


class Repair(NamedTuple):
    """What operators can repair on the read side."""

    blocked: HeldAggregates
    records: StoppingRecords
    dead_letters: ParkedLetters


@contextmanager
def repair(settings: Settings) -> Iterator[Repair]:
    """Open the read side that is set, or that of the running service.

    Raises:
        UnreachableError: There is none, or it does not answer.
    """

    def decide(made: Sequence[Decision]) -> None:
        write_skips(kafka_options(settings), settings.topics, made)

    url = database_url(settings)
    if (file := file_of(url)) is not None and not file.is_file():
        raise UnreachableError(
            f"there is no read side at {file}: is it the right data directory, and did `verdict "
            "up` start once?"
        )
    with opened(url) as engine:
        try:
            yield Repair(
                HeldAggregates(
                    settings.application, engine, declared(settings.application, settings.chosen)
                ),
                StoppingRecords(engine, lambda: KafkaLog(kafka_options(settings)), decide),
                ParkedLetters(engine, settings.topics),
            )
        except DBAPIError as error:
            problem = f"{masked_url(engine.url)}: {one_line_error(error.orig)}"
            raise (UnreachableError if database_failed(error) else VerdictError)(problem) from error
