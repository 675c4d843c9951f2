"""Books that are right have no findings; of each kind of planted damage the place is named.

All damage is planted once, each kind in an aggregate of its own, and one audit looks at it all.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import pytest
from sqlalchemy import text

from tests.application import decode_event
from tests.audit.books import PLACE, Books
from tests.tiers import is_thorough
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.operations.audit.auditor import Auditor
from verdict.operations.audit.finding import Check, Finding
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.records import decode
from verdict.wire.response import Response
from verdict.write_side.state.entries import kept, key_hash, value_of
from verdict.write_side.state.lmdb_cache import LmdbCache
from verdict.write_side.state.shard_state import snapshot_key

FILL = {"type": "FillOrder", "quantity": 1, "price_cents": 99}
OPEN = {"type": "OpenPosition", "client": "ada", "ticker": "AAPL", "exchange": "NYSE", "amount": 3}
SPOILT = ("gap", "flipped", "last", "cut", "twice", "unanswered", "unrejected")
ARCHIVED = ("value", "hash", "payload", "row")
Found = Mapping[str | None, list[Finding]]


@pytest.fixture(scope="module")
def books(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    books = Books(broker, "planted", tmp_path_factory.mktemp("planted") / "data")
    yield books
    books.close()


@pytest.fixture(scope="module")
def right(books: Books) -> tuple[list[Finding], Mapping[str, int]]:
    """Return what an audit finds, and what it looked at, before any damage."""
    books.ask("order", "good", PLACE, FILL, FILL | {"quantity": 99})
    books.ask("position", "p-good", OPEN, {"type": "ClosePosition"})
    again = {
        "command_id": "c-1",
        "aggregate_id": "good",
        "expected_version": "ANY",
        "payload": PLACE,
    }
    commands = books.topics.commands("order")
    books.produce([books.at(commands, "good", again), books.at(commands, "bad", b"no command")])
    for name in (*ARCHIVED, "stored", "outcome"):
        books.ask("order", name, PLACE, FILL)
    books.ask("position", "held", OPEN)
    books.settle()
    auditor = Auditor(books.settings)
    return [*auditor.findings()], dict(auditor.looked.at)


@pytest.fixture(scope="module")
def found(books: Books, right: object) -> Found:
    """Return what an audit finds after all damage is done, by aggregate."""
    for name in SPOILT:
        books.ask("order", name, PLACE, *([] if name == "last" else [FILL, FILL]))
    books.ask("order", "unrejected", FILL | {"quantity": 99})
    books.settle(spoilt)
    alter(books)
    by_name = defaultdict(list)
    for finding in Auditor(books.settings).findings():
        by_name[finding.aggregate_id].append(finding)
    return by_name


def spoilt(outputs: Iterable[OutputRecord]) -> list[OutputRecord]:
    """Return what a hand in Kafka's log leaves of what was decided."""
    return [left for output in outputs for left in spoilt_one(output)]


def spoilt_one(output: OutputRecord) -> Iterator[OutputRecord]:
    name, kind = (output.key or b"").decode(), output.topic.rpartition(".")[2]
    event = decode_event("order", output.value) if kind == "events" else None
    version = event.version if event else 0
    response = decode(Response, output.value) if kind == "responses" else None
    match name:
        case "gap" if version == 2:
            return
        case "cut" if version == 3:
            return
        case "flipped" | "last" if version == 1:
            output = output._replace(value=output.value.replace(b"AAPL", b"AAPM"))
        case "twice" if response and response.to_version == 2:
            yield output
        case "unanswered" if response and response.to_version == 2:
            return
        case "unrejected" if kind == "rejected":
            return
    yield output


def alter(books: Books) -> None:
    """Change tables and the decider's state behind everybody's back."""
    where = "WHERE aggregate_id = '{}' AND version = 1"
    with books.read_side.engine.begin() as connection:
        for statement in (
            "UPDATE event_archive_v1 SET value = CAST(value || 'x' AS BLOB) "
            + where.format("value"),
            "UPDATE event_archive_v1 SET hash = 'beef' " + where.format("hash"),
            "UPDATE event_archive_v1 SET payload = replace(payload, 'ada', 'eve') "
            + where.format("payload"),
            "DELETE FROM event_archive_v1 " + where.format("row"),
            "UPDATE us_holder_row_v1 SET exchange = 'LON' WHERE aggregate_id = 'held'",
            "UPDATE us_holder_v1 SET positions = 7 WHERE client = 'ada'",
            "UPDATE client_overview_v1 SET open_positions = 7 WHERE client = 'ada'",
            "UPDATE outcome_v1 SET status = 'REJECTED', decided_at = '2026-11-21T12:00:00.007Z' "
            "WHERE aggregate_id = 'outcome' AND to_version = 2",
        ):
            assert connection.execute(text(statement)).rowcount == 1, statement
    copy = LmdbCache(books.settings.data_dir / "state", 0)
    copy.begin()
    key = key_hash(snapshot_key("order", "stored"))
    stored = bytearray(value_of(copy.get(key) or b""))
    stored[16] ^= 1  # of the time of the last event
    copy.end()
    with copy._env.begin(write=True) as writing:
        writing.put(key, kept(bytes(stored), 0), db=copy._entries)


def places(books: Books, kind: str, name: str) -> list[str]:
    """Return the places of what is on a topic of orders under a key."""
    topic, partition = f"{books.topics.prefix}order.{kind}", books.partition(name)
    return [f"{topic}:{partition}:{offset}" for offset, _ in books.records(topic, name)]


def test_books_that_are_right_have_no_findings(
    right: tuple[list[Finding], Mapping[str, int]],
) -> None:
    findings, looked = right

    assert findings == []
    assert looked["commands"] == looked["responses"] + looked["dead letters"] == 20
    assert looked["duplicates"] == looked["dead letters"] == 1
    assert looked["responses"] - looked["duplicates"] == looked["accepted"] + looked["rejected"]
    assert looked["rejected"] == looked["rejections"] == 1
    assert looked["events"] == looked["archived events"] == 17
    assert looked["aggregates"] == looked["states"] == 9


def test_what_the_read_side_has_not_come_to_is_said(books: Books, right: object) -> None:
    """Just after traffic, or a start, it would be all clean without a check."""
    books.ask("order", "late", PLACE)
    books.decide()
    auditor = Auditor(books.settings)

    assert [*auditor.findings()] == []
    [said] = [one for one in auditor.looked.not_checked if "has not come yet" in one]
    assert said.startswith(f"1 events in {books.topics.events('order')}:")


LAST = "has the SHA-256 [0-9a-f]{16}…, and the last outcome, at .*: it was altered"
EVENT, RESPONSE, COMMAND = "events", "responses", "commands"


@pytest.mark.proves("C-16")
@pytest.mark.parametrize(
    ("name", "kind", "place", "what"),
    [
        ("gap", (Check.VERSIONS, 3), (EVENT, 1), "follows version 1: version 2 is missing"),
        ("flipped", (Check.CHAIN, 1), (EVENT, 0), "version 2, at .*, says it was .*was altered"),
        ("last", (Check.LAST_HASH, 1), (EVENT, 0), LAST),
        ("last", (Check.STATE, 1), None, "what is stored is not the fold"),
        ("cut", (Check.VERSIONS, 3), (RESPONSE, 2), "cut off: they end with version 2"),
        ("twice", (Check.OUTCOMES, None), (RESPONSE, 2), "two outcomes: this is the second one"),
        ("unanswered", (Check.OUTCOMES, None), (COMMAND, 1), "is decided and has no outcome"),
        ("unrejected", (Check.OUTCOMES, None), (COMMAND, 3), "and its rejection is missing"),
        ("value", (Check.ARCHIVE, 1), (EVENT, 0), "its value is not that of Kafka's record"),
        ("hash", (Check.ARCHIVE, 1), (EVENT, 0), "was altered: hash not as archived"),
        ("payload", (Check.ARCHIVE, 1), (EVENT, 0), "was altered: payload not as archived"),
        ("row", (Check.ARCHIVE, 1), (EVENT, 0), "its row in event_archive is missing"),
        ("stored", (Check.STATE, 2), None, "is not the fold of the events up to this version"),
    ],
)
def test_each_damage_is_named_with_its_place(
    found: Found,
    books: Books,
    name: str,
    kind: tuple[Check, int | None],
    place: tuple[str, int] | None,
    what: str,
) -> None:
    [one] = [one for one in found[name] if one.check is kind[0] and re.search(what, one.what)]

    assert (one.aggregate_type, one.version) == ("order", kind[1])
    where = None if place is None else places(books, place[0], name)[place[1]]
    assert (one.place and str(one.place)) == where


@pytest.mark.proves("C-16")
def test_rows_of_read_models_that_are_not_their_fold_are_named(found: Found) -> None:
    [position] = found["held"]
    of_groups = [one.what for one in found[None] if one.check is Check.PROJECTIONS]
    [outcome] = found["outcome"]

    assert position.aggregate_type == "position", "the table has no column that says so"
    assert position.what == (
        "us_holder, us_holder_row_v1 held: exchange is 'LON', by the log 'NYSE'"
    )
    assert of_groups == [
        "us_holder, us_holder_v1 ada: positions is 7, by the log 1",
        "client_overview, client_overview_v1 ada: open_positions is 7, by the log 1",
    ]
    assert "status is 'REJECTED', by the log 'ACCEPTED'" in outcome.what
    assert "decided_at is '2026-11-21T12:00:00.007Z', by the log '20" in outcome.what, "no numbers"


@pytest.mark.long
def test_one_aggregate_alone_has_the_same_findings(found: Found, books: Books) -> None:
    others = ("good", *SPOILT, *ARCHIVED) if is_thorough() else ("gap", "value")
    assert found["good"] == found["p-good"] == []
    for name in ("stored", "outcome", *others):
        alone = Auditor(books.settings, "order", name).findings()
        assert sorted(map(str, alone)) == sorted(map(str, found[name])), name
