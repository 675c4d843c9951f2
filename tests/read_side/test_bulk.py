"""What a batch costs does not grow with its events, and what a reader sees never flickers."""

import threading

import pytest

from schemas.enrolment import ParticipantEnrolled, ParticipantMoved
from schemas.order import OrderDeleted, OrderPlaced
from schemas.position import PositionAdjusted, PositionTransferred
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog, opened
from tests.tiers import examples
from verdict.adapters.sql.bulk import MANY
from verdict.model.message import Event

pytestmark = pytest.mark.both_databases

READS = examples(1000)
BATCHES = examples(100)
FOR_COPYING = 4  # statements, to send many rows to PostgreSQL; COPY itself is not counted
ORDERED = OrderPlaced(client="ada", ticker="FB", side="BUY", quantity=1, limit_price_cents=1)


@pytest.mark.parametrize(
    ("projection", "kind", "begins", "goes_on"),
    [
        ("us_holder", "position", opened("ada"), PositionTransferred(client="bob")),
        ("client_recent_order", "order", ORDERED, OrderDeleted()),
        (
            "program_tally",
            "enrolment",
            ParticipantEnrolled(program="chess"),
            ParticipantMoved(program="go"),
        ),
        ("client_overview", "position", opened("ada"), PositionTransferred(client="bob")),
        ("event_archive", "order", ORDERED, OrderDeleted()),
    ],
)
def test_many_events_take_as_many_statements_as_few(
    read_side: ReadSide, projection: str, kind: str, begins: Event, goes_on: Event
) -> None:
    log, applier = EventLog(aggregate_type=kind), read_side.applier(projection)
    for number in range(20):  # on every partition
        log.add(f"first-{number}", begins)
    applier.apply(log.batch())

    def statements(first: int, count: int) -> int:
        for number in range(first, first + count):
            log.add(f"a-{number}", *([begins, goes_on] if number % 2 else [begins]))
        with read_side.statements() as sent:
            applier.apply(log.batch())
        assert not applier.is_stopped
        return len(sent)

    few, many = statements(0, 2), statements(2, MANY)
    most = statements(2 + MANY, 3 * MANY)

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
