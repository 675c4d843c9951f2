"""All that waits for a person in a deployment, of whatever kind it is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
from verdict.projection.decoding import Decoding
from verdict.unhandled.events import HeldAggregates
from verdict.unhandled.kind import NothingWaits, Unhandled
from verdict.unhandled.letters import ParkedLetters
from verdict.unhandled.records import StoppingRecords
from verdict.wire.decision import Decision


@contextmanager
def kinds(settings: Settings) -> Iterator[list[Unhandled]]:
    """Give all kinds, on the read side that is set, or that of the running service.

    Raises:
        Unreachable: There is none, or it does not answer.
    """
    topics = settings.topics

    def decide(made: Sequence[Decision]) -> None:
        write_decisions(kafka_options(settings), topics, made)

    url = database_url(settings)
    _see_that_it_is_there(url)
    with opened(url) as engine:
        try:
            yield [
                HeldAggregates(
                    settings.application, engine, declared(settings.application, settings.chosen)
                ),
                StoppingRecords(
                    engine, lambda: KafkaLog(kafka_options(settings)), decide, Decoding(topics)
                ),
                ParkedLetters(engine, topics),
            ]
        except DBAPIError as error:
            problem = f"{shown(engine.url)}: {one_line(error.orig)}"
            raise (Unreachable if database_failed(error) else VerdictError)(problem) from error


@contextmanager
def kind_of(address: str, settings: Settings) -> Iterator[Unhandled]:
    """Give the kind that an address is of.

    Raises:
        NothingWaits: It is of none.
        Unreachable: As `kinds`.
    """
    with kinds(settings) as every:
        kind = next((one for one in every if one.knows(address)), None)
        if kind is None:
            raise NothingWaits(address)
        yield kind


def _see_that_it_is_there(url: str) -> None:
    """Refuse to make a read side: whoever only asks makes none."""
    if (file := file_of(url)) is not None and not file.is_file():
        raise Unreachable(
            f"there is no read side at {file}: is it the right data directory, and did `verdict "
            "up` start once?"
        )
