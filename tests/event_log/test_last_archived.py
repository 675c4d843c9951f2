"""G-01: a log that began again under the same ids, and has come past where the former was read."""

from hashlib import sha256
from pathlib import Path

import pytest

from tests.audit.books import PLACE, Books
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import DifferentLogError
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.read_side.tables.same_log import require_same_database

ALTERED = "UPDATE event_archive_v1 SET value = ? WHERE aggregate_id = 'o-1' AND version = 1"
OTHER = "UPDATE event_archive_v1 SET hash = ? WHERE aggregate_id = 'o-1' AND version = 1"


@pytest.mark.proves("G-01")
def test_another_record_in_the_place_of_the_last_archived_event_is_refused(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Else the events before that place would never be read, and nothing would say so."""
    books = Books(broker, "last-archived", tmp_path / "data")
    books.ask("order", "o-1", PLACE)
    books.settle()
    topic, number = books.topics.events("order"), books.partition("o-1")
    kafka = KafkaConfig(settings=books.options)
    require_same_database(books.settings, kafka)

    other = sha256(b"another event").hexdigest()
    with books.read_side.engine.begin() as connection:
        connection.exec_driver_sql(ALTERED, (b"another event",))
    require_same_database(books.settings, kafka)  # which is for the audit to name
    with books.read_side.engine.begin() as connection:
        connection.exec_driver_sql(OTHER, (other,))
    said = rf"{topic}:{number}:0 was archived with the SHA-256 {other[:16]}…, and Kafka has"
    with pytest.raises(DifferentLogError, match=said):
        require_same_database(books.settings, kafka)
    books.ask("order", "o-1", {"type": "ModifyOrder", "quantity": 5})
    books.settle()
    require_same_database(books.settings, kafka)  # the last one is as it was archived

    books.drop(topic, number, books.bounds(topic)[number][1])
    require_same_database(books.settings, kafka)
    books.close()
