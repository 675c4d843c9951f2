"""Appliers in processes of their own, each killed inside a transaction: `doomed URL BATCHES`.

The first process is killed at the first statement of the first transaction, the next one at the
second statement, and so on; the last "statement" is the commit. Only a process that outlives all of
them commits, and then the next transaction is begun in the same way. At the end the number of kills
is printed. Only so many of the last batches end like that; those before are applied in peace.
"""

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from itertools import chain, count, islice
from typing import Any

from sqlalchemy import Engine
from sqlalchemy import event as sql_event

from schemas.enrolment import LoginRecorded, ParticipantEnrolled, ParticipantMoved
from schemas.order import OrderDeleted, OrderFilled, OrderPlaced
from schemas.position import PositionClosed, PositionRelisted, PositionTransferred
from tests.application import APPLICATION
from tests.kit.databases import NOW
from tests.kit.log import EventLog, opened
from tests.read_side.responses import ACCEPTED, MALFORMED, REJECTED, batch_of
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.apply.missing_events import missing_events
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import open_database
from verdict.wire.partitions import OffsetRange
from verdict.wire.topics import Topics

COMMITTED, FINISHED, BROKEN = 10, 11, 12  # exit codes

HAPPENS: dict[str, tuple[tuple[Any, ...], ...]] = {  # to the first aggregates, batch by batch
    "position": (
        (opened("ada"), opened("ada"), opened("bob", "LON")),
        (PositionTransferred(client="cleo"), PositionClosed(), PositionRelisted(exchange="IEX")),
        (PositionRelisted(exchange="LON"), opened("ada"), PositionTransferred(client="ada")),
    ),
    "order": (
        tuple(
            OrderPlaced(client=client, ticker="FB", side="BUY", quantity=9, limit_price_cents=7)
            for client in ("ada", "ada", "bob")
        ),
        (OrderFilled(quantity=1, price_cents=7), OrderDeleted(), OrderDeleted()),
        (OrderFilled(quantity=2, price_cents=7),),
    ),
    "enrolment": (
        tuple(ParticipantEnrolled(program=program) for program in ("chess", "chess", "go")),
        (ParticipantMoved(program="go"), LoginRecorded(at=5), LoginRecorded(at=6)),
        (LoginRecorded(at=7), ParticipantMoved(program="go"), ParticipantMoved(program="chess")),
    ),
}
RESPONSES = (ACCEPTED, REJECTED, MALFORMED)


def batches() -> Iterator[ProjectionBatch]:
    """Yield three batches, with something for most projections in each."""
    logs = {kind: EventLog(2, kind) for kind in HAPPENS}
    for number, response in enumerate(RESPONSES):
        deliveries, spans = [], dict[Any, OffsetRange]()
        for kind, log in logs.items():
            begins, before = dict(log.ends), len(log.deliveries)
            for name, payload in enumerate(HAPPENS[kind][number]):
                log.add(f"{kind}-{name}", payload)
            deliveries += log.deliveries[before:]
            spans |= {place: OffsetRange(begins[place], end) for place, end in log.ends.items()}
        answers = batch_of([response], number)
        topics = [place.topic for place in answers.spans([Topics(APPLICATION).responses("order")])]
        yield ProjectionBatch(
            chain(deliveries, answers.deliveries(topics)), spans | answers.spans(topics)
        )


def appliers(engine: Engine) -> list[Applier]:
    """Return one for each projection."""
    return [
        Applier(engine, projection, Topics(APPLICATION), lambda: NOW, missing=missing_events)
        for projection in projections(APPLICATION)
    ]


def apply_all(engine: Engine, but_for: int = 0) -> None:
    """Apply all batches to all projections, but for some at the end."""
    following = appliers(engine)
    for batch in islice(batches(), len(RESPONSES) - but_for):
        for applier in following:
            applier.apply(batch)
            assert not applier.is_stopped, applier.failure


def one_transaction(url: str, at: int) -> int:
    """Apply what is the next to be applied, in one transaction; die at a statement of it."""
    engine = open_database(url)
    following = appliers(engine)
    left = 0

    def count_down(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sql_event.listen(engine, "before_cursor_execute", count_down)
    sql_event.listen(engine, "commit", count_down)
    for batch in batches():
        for applier in following:
            before = dict(applier.positions)
            left = at  # not with each transaction: the batch must not take two
            applier.apply(batch)
            assert not applier.is_stopped, applier.failure
            if applier.positions != before:
                return COMMITTED
    return FINISHED


def in_a_process(url: str, at: int) -> int:
    """Return how a new process with the next transaction ended, as `os.waitstatus_to_exitcode`."""
    child = os.fork()
    if not child:
        code = BROKEN
        try:
            code = one_transaction(url, at)
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(url: str, killed: str) -> None:
    """Apply everything; of the last `killed` batches with a kill at every statement."""
    engine = open_database(url)
    apply_all(engine, but_for=int(killed))
    engine.dispose()
    kills, numbers = 0, count(1)
    while (ended := in_a_process(url, next(numbers))) != FINISHED:
        if ended == COMMITTED:
            numbers = count(1)
        elif ended == -signal.SIGKILL:
            kills += 1
        else:
            sys.exit(f"a process ended with {ended}")
    sys.stdout.write(str(kills))


if __name__ == "__main__":
    main(*sys.argv[1:])
