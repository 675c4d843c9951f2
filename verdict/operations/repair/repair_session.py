"""The read side of a deployment, opened for repairs."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.errors import UnreachableError, VerdictError
from verdict.operations.repair.blocked_aggregates import BlockedAggregates
from verdict.operations.repair.dead_letters import DeadLetters
from verdict.operations.repair.stopping_records import StoppingRecords
from verdict.read_side.apply.applier import database_failed
from verdict.read_side.catalog import declared
from verdict.read_side.schema.database import opened
from verdict.settings.database_address import file_of, masked_url
from verdict.settings.discovery import database_url, kafka_options
from verdict.settings.settings import Settings


class Repair(NamedTuple):
    """What operators can repair on the read side."""

    blocked: BlockedAggregates
    records: StoppingRecords
    dead_letters: DeadLetters


@contextmanager
def repair(settings: Settings) -> Iterator[Repair]:
    """Open the read side that is set, or that of the running service."""

    url = database_url(settings)
    if (file := file_of(url)) is not None and not file.is_file():
        raise UnreachableError(
            f"there is no read side at {file}: is it the right data directory, and did `verdict "
            "up` start once?"
        )
    with opened(url) as engine:
        try:
            yield Repair(
                BlockedAggregates(
                    settings.application, engine, declared(settings.application, settings.chosen)
                ),
                StoppingRecords(engine, partial(kafka_options, settings), settings.topics),
                DeadLetters(engine, settings.topics),
            )
        except DBAPIError as error:
            problem = f"{masked_url(engine.url)}: {one_line_error(error.orig)}"
            raise (UnreachableError if database_failed(error) else VerdictError)(problem) from error
