"""How fast a backlog of dead letters that are all due goes round: in, and out again."""

import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, func, select

from benchmarks.results import Result
from benchmarks.workload import Sent, fill
from tests.dead_letters.desk import Desk, RunningRetry
from tests.postgresql import server
from verdict.adapters.kafka.reader import KafkaLog
from verdict.read_side.tables.dead_letters import table

BYTES = 200
POLL_S = 0.05


def dead_letters(servers: str, folder: Path, count: int) -> Iterator[Result]:
    """Yield the rate on each kind of database, from Kafka into the table and out of it to Kafka."""
    with server() as postgresql, postgresql.database() as url:
        urls = {"sqlite": f"sqlite:///{folder / 'dead-letters.db'}", "postgresql": url}
        for kind, database_url in urls.items():
            desk = Desk(servers, f"dead-letters-{kind}-", database_url)
            yield {"what": "dead-letters", "database": kind} | _round(servers, desk, count)


def _round(servers: str, desk: Desk, count: int) -> Result:
    fill(servers, desk.topics.dead_letters, _letters(count))
    time.sleep(1)  # the default back-off: all are due
    began = time.perf_counter()
    with RunningRetry(desk, retry_poll_ms=500):
        taken_in_s = time.perf_counter() - began
        with desk.engine.connect() as connection, KafkaLog(desk.options) as log:
            while _sent(log, desk.topics.retry) < count or _kept(connection):
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
