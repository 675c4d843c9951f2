"""C-17: after a power failure of Kafka, `recover --restore-events` brings events back once."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.application import decode_event, encode_event
from tests.audit.books import PLACE, Books
from verdict.adapters.kafka.appending import Appender, Record
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import DifferentLogError
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import VerdictError
from verdict.operations.repair import restored_events
from verdict.operations.repair.restored_events import Restored, restore_events
from verdict.read_side.tables.same_log import bind_to_log, require_same_database
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.query import DECIDER, decider_query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.records import encode
from verdict.wire.skip_record import Kind

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(300)]
WISH = SkipRequest(operator="ann", reason="the power failed", at=1_700_000_000_000)
NAMES = ("o-1", "o-2", "o-3", "o-4")
Seen = list[tuple[str, int, bytes]]


def modify(quantity: int) -> dict[str, object]:
    return {"type": "ModifyOrder", "quantity": quantity}


class PowerFailure:
    """Books on a broker of their own, which forgets the end of its events."""

    def __init__(self, folder: Path) -> None:
        self.broker = EmbeddedBroker(folder / "broker")
        self.broker.start()
        self.books = Books(self.broker, "power", folder / "data")
        self.kafka = KafkaConfig(
            settings=self.books.options, outputs=self.books.settings.topics.outputs()
        )
        self._older = folder / "older"
        for name in NAMES:
            self.books.ask("order", name, PLACE, modify(11))
        self.books.settle()
        self._exchange(shutil.copytree)
        for quantity in (12, 13, 14):
            for name in NAMES[:3]:
                self.books.ask("order", name, modify(quantity))
            self.books.settle()

    def fail(self) -> None:
        """Put the partitions of the events back to where they were."""

        def put_back(one: Path, kept: Path) -> None:
            shutil.rmtree(one)
            shutil.copytree(kept, one)

        self._exchange(put_back)

    def _exchange(self, with_kept: Callable[[Path, Path], object]) -> None:
        self.broker.stop()
        for one in sorted(self.broker.data_dir.rglob("*order.events-*")):
            with_kept(one, self._older / one.name)
        self.broker.start()

    def restore(self) -> Restored:
        return restore_events(self.books.settings, self.kafka, WISH)

    def events(self) -> Seen:
        """Return id, version and value of all events of orders in Kafka."""
        with KafkaLog(self.books.options) as log:
            places = log.places([self.books.topics.events("order")])
            return sorted(
                (str(event.aggregate_id), event.version, value)
                for value in (bytes(one.value() or b"") for one in log.read(log.bounds(places)))
                for event in [decode_event("order", value)]
            )

    def progress(self) -> ProgressRecord:
        """Return the progress record of the command processor."""
        progress = readable_progress(self.kafka, decider_query(self.books.topics, 1), wait=True)
        assert progress is not None
        return progress

    def rows(self, view: str) -> list[tuple[object, ...]]:
        with self.books.read_side.engine.connect() as connection:
            return sorted(map(tuple, connection.execute(text(f"SELECT * FROM {view}"))), key=repr)


@pytest.fixture
def power(tmp_path: Path) -> Iterator[PowerFailure]:
    found = PowerFailure(tmp_path)
    yield found
    found.books.close()
    found.broker.stop()


def places(power: PowerFailure) -> set[tuple[str, int]]:
    """Return name and offset of all events of orders in Kafka."""
    topic = power.books.topics.events("order")
    return {(name, at) for name in NAMES for at, _ in power.books.records(topic, name)}


ARCHIVED = '(SELECT aggregate_id, version, value, "offset", "partition" FROM event_archive)'


@pytest.mark.proves("C-17")
def test_lost_events_come_back_once_and_every_projection_goes_on(power: PowerFailure) -> None:
    events, shown = power.events(), power.rows("client_recent_order")
    archived = [row[:3] for row in power.rows(ARCHIVED)]
    progress = power.progress()
    older = {topic: [0] * len(of) for topic, of in progress.offsets.items()}
    record = encode(replace(progress, offsets=older))
    power.books.transact([(power.books.topics.progress, DECIDER.encode(), record, 0)])
    power.fail()
    assert len(power.events()) < len(events)
    with pytest.raises(DifferentLogError, match=r"recover --restore-events --reason"):
        require_same_database(power.books.settings, power.kafka)

    done = power.restore()

    require_same_database(power.books.settings, power.kafka)
    assert power.progress().offsets == progress.offsets
    assert sum(done.lost.values()) == done.appended == 9
    assert power.events() == events
    assert [row[:3] for row in power.rows(ARCHIVED)] == archived
    assert {(row[0], row[3]) for row in power.rows(ARCHIVED)} == places(power)
    decided = read_skips(power.books.options, power.books.topics)
    assert {(one.kind, one.operator, one.reason) for one in decided} == {
        (Kind.RESTORED, "ann", "the power failed")
    }

    assert power.restore() == Restored({}, 0)
    power.books.project()
    assert power.rows("client_recent_order") == shown
    power.books.ask("order", "o-1", modify(20))
    power.books.settle()
    assert [row[1] for row in power.rows(ARCHIVED) if row[0] == "o-1"] == [1, 2, 3, 4, 5, 6]


def test_an_interrupted_run_is_finished_by_a_repetition(
    power: PowerFailure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after some events were appended, with nothing corrected in the database."""
    events, shown = power.events(), power.rows("client_recent_order")

    class Killed(Appender):
        def append(self, records: Iterable[Record]) -> int:
            super().append([record for record, _ in zip(records, range(4), strict=False)])
            raise KeyboardInterrupt

    power.fail()
    with monkeypatch.context() as patched:
        patched.setattr(restored_events, "Appender", Killed)
        with pytest.raises(KeyboardInterrupt):
            power.restore()
    with pytest.raises(DifferentLogError, match=r"recover --restore-events --reason"):
        require_same_database(power.books.settings, power.kafka)

    done = power.restore()

    assert (sum(done.lost.values()), done.appended) == (9, 5)
    assert power.events() == events
    power.books.project()
    assert power.rows("client_recent_order") == shown


def test_other_events_under_the_same_versions_are_named_and_nothing_is_appended(
    power: PowerFailure,
) -> None:
    """Somebody went on with a state from before the loss, and gave versions a second time."""
    fourth = next(value for *of, value in power.events() if of == ["o-1", 4])
    other = encode_event(decode_event("order", fourth)._replace(version=3))
    power.fail()
    topic, number = power.books.topics.events("order"), power.books.partition("o-1")
    power.books.transact([(topic, b"o-1", other, number)])
    before = power.events()

    said = r"version 3 of order 'o-1' was archived at .* has other bytes"
    with pytest.raises(VerdictError, match=said):
        power.restore()

    assert power.events() == before


@pytest.mark.proves("G-01")
def test_nothing_is_appended_to_another_kafka(power: PowerFailure) -> None:
    """The topics have the same names there."""
    engine, topics = power.books.read_side.engine, power.books.topics.of_the_log()
    bind_to_log(engine, power.kafka, topics)
    power.fail()
    before = power.events()
    with engine.begin() as connection:
        connection.execute(text("UPDATE source_topic_v1 SET cluster_id = 'another one'"))

    with pytest.raises(DifferentLogError, match="the cluster's id was another one and is"):
        power.restore()

    assert power.events() == before
