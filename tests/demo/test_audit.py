from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from compose.demo.audit import Audit
from schemas.message import Event
from schemas.position import (
    PositionClosed,
    PositionOpened,
    PositionRelisted,
    PositionTransferred,
)
from schemas.wire.records import encode_event
from tests.projections.event_log import EventLog

OPENED = PositionOpened(client="ada", ticker="AAPL", exchange="NASDAQ", amount=1)
US = ("NASDAQ", "NYSE")


def history(position_id: str, *payloads: Event) -> Iterator[bytes]:
    """Yield the events of a position as they lie in Kafka, chained by their hashes."""
    log, before = EventLog(), b""
    for payload in payloads:
        event = replace(log.add_unseen(position_id, payload), previous_hash=before)
        value = encode_event(event)
        before = sha256(value).digest()
        yield value


def audited(*values: bytes) -> Audit:
    audit = Audit()
    for value in values:
        audit.take("position", value)
    return audit


def test_a_whole_history_is_as_it_must_be() -> None:
    audit = audited(*history("p-1", OPENED, PositionClosed(), OPENED), *history("p-2", OPENED))

    assert (audit.events, audit.aggregates) == (4, 2)
    assert (audit.out_of_version, audit.out_of_chain) == ([], [])


def test_a_missing_event_breaks_versions_and_chain() -> None:
    first, _, third = history("p-1", OPENED, PositionClosed(), OPENED)

    audit = audited(first, third)

    assert audit.out_of_version == ["position p-1 version 3 after version 1"]
    assert audit.out_of_chain == ["position p-1 version 3"]


def test_an_event_that_lies_there_twice_breaks_the_versions() -> None:
    [first] = history("p-1", OPENED)

    assert audited(first, first).out_of_version == ["position p-1 version 1 after version 1"]


def test_a_changed_event_is_seen_in_its_successor() -> None:
    [first] = history("p-1", OPENED.model_copy(update={"amount": 2}))
    _, second = history("p-1", OPENED, PositionClosed())

    assert audited(first, second).out_of_chain == ["position p-1 version 2"]


def test_holders_are_who_has_open_positions_on_a_us_exchange() -> None:
    audit = audited(
        *history("kept", OPENED),
        *history("closed", OPENED, PositionClosed()),
        *history("left", OPENED, PositionRelisted(exchange="LON")),
        *history("came", OPENED.model_copy(update={"exchange": "LON"}),
                 PositionRelisted(exchange="NYSE")),
        *history("moved", OPENED, PositionTransferred(client="bob")),
    )  # fmt: skip

    assert audit.holders(US) == {"ada": 2, "bob": 1}
