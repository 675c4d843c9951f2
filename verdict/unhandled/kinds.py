"""All that waits for a person in a deployment, of whatever kind it is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from verdict.configuration.found import database_url, kafka_options
from verdict.configuration.settings import Settings
from verdict.database.address import is_sqlite, one_line, parse, shown
from verdict.errors import Unreachable, VerdictError
from verdict.event_log.decisions import write_decisions
from verdict.kafka.log import KafkaLog
from verdict.projection.applier import database_failed
from verdict.projection.database import open_database
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

    engine = _existing(database_url(settings))
    try:
        yield [
            HeldAggregates(engine, declared(settings.chosen)),
            StoppingRecords(
                engine, lambda: KafkaLog(kafka_options(settings)), decide, Decoding(topics)
            ),
            ParkedLetters(engine, topics),
        ]
    except DBAPIError as error:
        problem = f"{shown(engine.url)}: {one_line(error.orig)}"
        raise (Unreachable if database_failed(error) else VerdictError)(problem) from error
    finally:
        engine.dispose()


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


def _existing(url: str) -> Engine:
    """Open a read side that is there; whoever only asks makes none."""
    parsed = parse(url)
    if is_sqlite(parsed) and not Path(parsed.database or "").is_file():
        raise Unreachable(
            f"there is no read side at {parsed.database}: is it the right data directory, and did "
            "`verdict up` start once?"
        )
    return open_database(url)
