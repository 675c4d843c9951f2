"""What a batch costs does not grow with its events, and what a reader sees never flickers."""

import threading

import pytest
from sqlalchemy import event as sql_event

from schemas.enrolment import ParticipantEnrolled, ParticipantMoved
from schemas.order import OrderDeleted, OrderPlaced
from schemas.position import PositionAdjusted, PositionTransferred
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from tests.tiers import examples
from verdict.adapters.sql.bulk import MANY
from verdict.model.message import Event
from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch

pytestmark = pytest.mark.both_databases

SQLITE_VARIABLES = 32_766
READS = examples(1000)
BATCHES = examples(100)
FOR_COPYING = 4  # statements, to send many rows to PostgreSQL; COPY itself is not counted


class Statements:
    """Counts what is sent to the database."""

    def __init__(self, read_side: ReadSide) -> None:
        self._read_side = read_side
        self._count = 0

    def of(self, applier: Applier, batch: ProjectionBatch) -> int:
        """Return how many statements a batch takes."""
        self._count = 0
        engine = self._read_side.engine
        sql_event.listen(engine, "before_cursor_execute", self._add)
        applier.apply(batch)
        sql_event.remove(engine, "before_cursor_execute", self._add)
        assert not applier.is_stopped
        return self._count

    def _add(self, *_: object) -> None:
        self._count += 1


@pytest.fixture
def statements(read_side: ReadSide) -> Statements:
    return Statements(read_side)


@pytest.mark.long
@pytest.mark.slow
def test_us_holder_takes_as_many_statements_for_many_events_as_for_few(
    read_side: ReadSide, log: EventLog, statements: Statements
) -> None:
    applier = read_side.applier("us_holder")
    for number in range(10):
        log.add(f"p-{number}", opened(f"client-{number}"))
    applier.apply(log.batch())

    def some_of_all(first: int, count: int) -> ProjectionBatch:
        for number in range(first, first + count):
            log.add(f"p-{number}", opened(f"client-{number}"))
        log.add(f"p-{first - 1}", PositionTransferred(client=f"other-{first}"))
        return log.batch()

    few = statements.of(applier, some_of_all(10, 2))
    more = statements.of(applier, some_of_all(12, MANY))
    most = statements.of(applier, some_of_all(12 + MANY, SQLITE_VARIABLES + 1))

    assert few <= 13
    assert more == most <= few + FOR_COPYING
    assert read_side.select("SELECT sum(positions) FROM us_holder") == [
        (12 + MANY + SQLITE_VARIABLES + 1,)
    ]
    assert len(read_side.changes()) == 18 + MANY + SQLITE_VARIABLES + 1


ORDERED = OrderPlaced(
    client="ada", ticker="AAPL", side="BUY", quantity=1, limit_price_cents=1
)  # fmt: skip


@pytest.mark.parametrize(
    ("projection", "begins", "goes_on"),
    [
        ("client_recent_order", ORDERED, OrderDeleted()),
        (
            "program_tally",
            ParticipantEnrolled(program="chess"),
            ParticipantMoved(program="go"),
        ),
        ("client_overview", opened("ada"), PositionTransferred(client="bob")),
        ("event_archive", ORDERED, OrderDeleted()),
    ],
)
def test_other_projections_too_take_as_many_statements_for_many_events_as_for_few(
    read_side: ReadSide,
    statements: Statements,
    projection: str,
    begins: Event,
    goes_on: Event,
) -> None:
    kinds = {"program_tally": "enrolment", "client_overview": "position"}
    log = EventLog(aggregate_type=kinds.get(projection, "order"))
    applier = read_side.applier(projection)
    for number in range(20):  # on every partition
        log.add(f"first-{number}", begins)
    applier.apply(log.batch())

    def some(first: int, count: int) -> ProjectionBatch:
        for number in range(first, first + count):
            log.add(f"a-{number}", *([begins, goes_on] if number % 2 else [begins]))
        return log.batch()

    few = statements.of(applier, some(0, 2))
    many = statements.of(applier, some(2, MANY))
    most = statements.of(applier, some(2 + MANY, 3 * MANY))

    assert few <= 13
    assert many == most <= few + FOR_COPYING


class Polling(threading.Thread):
    """Asks who the holders are, again and again, and remembers every answer."""

    def __init__(self, read_side: ReadSide) -> None:
        super().__init__()
        self._read_side = read_side
        self._enough = threading.Event()
        self.answers: list[tuple[str, ...]] = []

    def run(self) -> None:
        with self._read_side.reader() as reader:
            while not self._enough.is_set():
                rows = reader.select("SELECT client FROM us_holder ORDER BY client").rows
                self.answers.append(tuple(client for (client,) in rows))

    def end(self) -> None:
        self._enough.set()
        self.join()


@pytest.mark.proves("H-04")
@pytest.mark.slow
def test_a_reader_never_sees_a_holder_vanish(read_side: ReadSide, log: EventLog) -> None:
    applier = read_side.applier("us_holder")
    log.add("p-1", opened("ada", amount=99))
    log.add("p-2", opened("bob"))
    applier.apply(log.batch())
    polling = Polling(read_side)
    polling.start()

    batches = 0
    while polling.is_alive() and (len(polling.answers) < READS or batches < BATCHES):
        batches += 1
        log.add("p-1", PositionAdjusted(amount=batches))
        log.add("p-2", PositionTransferred(client=("bob", "cleo")[batches % 2]))
        applier.apply(log.batch())
    polling.end()

    assert len(polling.answers) >= READS
    assert set(polling.answers) == {("ada", "bob"), ("ada", "cleo")}
    assert [client for client, _, _ in read_side.changes()].count("ada") == 1
