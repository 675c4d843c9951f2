"""How fast a backlog of dead letters that are all due goes round: in, and out again."""

import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, func, select

from benchmarks.measurement import create_topics, settings_for
from benchmarks.results import Result
from benchmarks.workload import Sent, fill
from tests.application import APPLICATION
from tests.dead_letters.desk import RunningRetry
from tests.postgresql import server
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables.dead_letters import table

BYTES = 200
POLL_S = 0.05


def dead_letters(servers: str, folder: Path, count: int) -> Iterator[Result]:
    """Yield the rate on each kind of database, from Kafka into the table and out of it to Kafka."""
    with server() as postgresql, postgresql.database() as url:
        urls = {"sqlite": f"sqlite:///{folder / 'dead-letters.db'}", "postgresql": url}
        for kind, database_url in urls.items():
            yield {"what": "dead-letters", "database": kind} | _round(
                servers, folder, f"dead-letters-{kind}", database_url, count
            )


def _round(servers: str, folder: Path, name: str, url: str, count: int) -> Result:
    settings = settings_for(servers, folder, name)
    create_topics(settings)
    fill(servers, settings.topics.dead_letters, _letters(count))
    time.sleep(1)  # the default back-off: all are due
    engine = open_database(url)
    create_read_side(engine, projections(APPLICATION))
    kafka = KafkaConfig(settings={"bootstrap.servers": servers})
    began = time.perf_counter()
    with RunningRetry(engine, kafka, settings):
        taken_in_s = time.perf_counter() - began
        with engine.connect() as connection, KafkaLog({"bootstrap.servers": servers}) as log:
            while _sent(log, settings.topics.retry) < count or _kept(connection):
                time.sleep(POLL_S)
    return {
        "letters": count,
        "in_per_s": round(count / taken_in_s),
        "round_per_s": round(count / (time.perf_counter() - began)),
    }


def _letters(count: int) -> Iterator[Sent]:
    for number in range(count):
        yield Sent("", b"parcel-%d" % number, b"%d" % number + bytes(BYTES))


def _sent(log: KafkaLog, topic: str) -> int:
    kept = log.bounds(log.places([topic])).values()
    return sum(span.end - span.start for span in kept)  # a transaction takes an offset, too


def _kept(connection: Connection) -> int:
    kept = connection.execute(select(func.count()).select_from(table)).scalar_one()
    connection.rollback()
    return int(kept)
