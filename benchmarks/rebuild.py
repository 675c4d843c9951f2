"""How fast a projection is built again, against its final rows put into the same database raw.

Raw is what nothing can beat: the rows are in memory, already folded, and go into an equal table by
`COPY` (PostgreSQL) or `executemany` (SQLite), in one transaction.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random

from confluent_kafka import Producer
from sqlalchemy import Engine, select

from benchmarks.cpu import cpu_by_process
from benchmarks.measurement import cpu_per_record, create_topics, settings_for
from benchmarks.results import Result
from schemas.order import OrderFilled, OrderPlaced
from schemas.position import PositionOpened, PositionTransferred
from tests.application import APPLICATION, encode_event
from tests.kit.log import AN_EVENT, START
from tests.postgresql import server
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.bulk import BulkRows
from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.statements import append
from verdict.model.message import Event
from verdict.read_side.catalog import declared, projections
from verdict.read_side.projections.projection import Projection, Rebuildable
from verdict.read_side.rebuild.build import ProjectionBuild
from verdict.read_side.rebuild.log_fold import LogFold, ends_of
from verdict.read_side.schema import creation
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.system_views import readable
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.wire.partitions import PartitionOffsets
from verdict.wire.topics import Topics

SEED = 1
CLIENTS = 10_000
EVENTS_A_ROW = 2
EXCHANGES = ("NASDAQ", "NYSE", "LON")
PROJECTIONS = {"us_holder": "position", "client_recent_order": "order"}

EndsOf = Callable[[Projection], PartitionOffsets]


def rebuild(servers: str, folder: Path, events: int) -> Iterator[Result]:
    """Yield a result for each projection and database."""
    settings = settings_for(servers, folder, "rebuild")
    create_topics(settings)
    topics = settings.topics
    for aggregate_type in PROJECTIONS.values():
        _write(servers, topics, aggregate_type, events)
    with ExitStack() as parts:
        log = parts.enter_context(KafkaLog({"bootstrap.servers": servers}))
        postgresql = parts.enter_context(parts.enter_context(server()).database())
        for url in (f"sqlite:///{folder / 'rebuild.db'}", postgresql):
            engine = open_database(url)
            create_read_side(engine, projections(APPLICATION))
            reader = parts.enter_context(Reader(url, readable(projections(APPLICATION))))
            log_and_archive = EventLog(topics, lambda: log, partial(Archive, reader))
            fold = LogFold(log_and_archive, topics, folder / "scratch", os.cpu_count() or 1)
            for name in PROJECTIONS:
                yield _measured(fold, partial(ends_of, log=log, topics=topics), engine, name)
            engine.dispose()


def _measured(fold: LogFold, ends_of_it: EndsOf, engine: Engine, name: str) -> Result:
    built, raw = declared(APPLICATION)[name](2), declared(APPLICATION)[name](3)
    with engine.begin() as connection:
        creation.create(connection, [built, raw])
    assert isinstance(built, Rebuildable)
    ends = ends_of_it(built)
    began, before = time.perf_counter(), cpu_by_process()
    ProjectionBuild(engine, built, ignore_step, ignore_step).write(fold, ends)
    build_s, after = time.perf_counter() - began, cpu_by_process()
    rows, raw_s = _raw(engine, built, raw)
    events = sum(ends.values())
    return {
        "what": "rebuild",
        "projection": name,
        "database": engine.dialect.name,
        "events": events,
        "rows": rows,
        "events_per_s": round(events / build_s),
        "raw_rows_per_s": round(rows / raw_s),
        "events_to_raw_rows": round(events / build_s / (rows / raw_s), 3),
        "cpu_us": cpu_per_record(before, after, events),
    }


def _raw(engine: Engine, built: Projection, raw: Projection) -> tuple[int, float]:
    """Put the rows of all tables of `built` into those of `raw`; count them, and take the time."""
    tables = []
    with engine.connect() as connection:
        for source, target in zip(built.tables, raw.tables, strict=True):
            found = [*map(tuple, connection.execute(select(source)))]
            tables.append((target, BulkRows(source.c.keys(), found)))
    began = time.perf_counter()
    with engine.begin() as connection:
        for target, rows in tables:
            append(connection, target, rows)
    return sum(len(rows.values) for _, rows in tables), time.perf_counter() - began


def _write(servers: str, topics: Topics, aggregate_type: str, count: int) -> None:
    """Write events, every aggregate's first one first."""
    random, producer = Random(SEED), Producer({"bootstrap.servers": servers, "linger.ms": 50})
    payload, rows = PAYLOADS[aggregate_type], count // EVENTS_A_ROW
    for number in range(count):
        version, row = divmod(number, rows)
        name = f"{aggregate_type}-{row:09d}"
        recorded = AN_EVENT._replace(
            event_id=f"{name}-{version}",
            aggregate_type=aggregate_type,
            aggregate_id=name,
            version=version + 1,
            decided_at=START + number,
            payload=payload(random, version),
        )
        producer.produce(topics.events(aggregate_type), encode_event(recorded), name)
        producer.poll(0)
    producer.flush()


def _of_position(random: Random, version: int) -> Event:
    client = f"client-{random.randrange(CLIENTS):06d}"
    if version:
        return PositionTransferred(client=client)
    return PositionOpened(
        client=client, ticker="AAPL", exchange=random.choice(EXCHANGES), amount=100
    )


def _of_order(random: Random, version: int) -> Event:
    if version:
        return OrderFilled(quantity=1, price_cents=12_345)
    client = f"client-{random.randrange(CLIENTS):06d}"
    return OrderPlaced(
        client=client, ticker="AAPL", side="BUY", quantity=100, limit_price_cents=12_345
    )


PAYLOADS: dict[str, Callable[[Random, int], Event]] = {"position": _of_position, "order": _of_order}
