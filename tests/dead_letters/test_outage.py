"""Kafka or the database goes away and comes back: letters wait, and go on by themselves."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.dead_letters.desk import Desk, headers_of, until
from tests.kit.network import Fault, Proxy
from tests.postgresql import LET_GO, Server
from verdict.adapters.local.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]
SHORT_S = 3.0
LONG_AGO = 10**12


@pytest.fixture
def sqlite_desk(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Desk]:
    """Return a desk that goes around the network."""
    desk = Desk(broker.bootstrap_servers, "cut.", f"sqlite:///{tmp_path / 'read.db'}")
    yield desk
    desk.close()


@pytest.mark.proves("R-05")
def test_letters_wait_while_kafka_is_away_and_a_lost_answer_repeats_the_same_ids(
    sqlite_desk: Desk, network: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    desk = sqlite_desk
    proxied = {"bootstrap.servers": network.address}
    kafka = replace(desk.kafka, settings=proxied, transaction_timeout_s=SHORT_S)
    stopped = "component dispatch of letters stopped"
    with desk.retrying(kafka, retry_s=0.5, retry_backoff="fixed:0s") as retrying:
        try:
            network.fail_in_a_commit(Fault.DROP_REPLIES)
            desk.put([b"a", b"b"], at=LONG_AGO)
            until(lambda: stopped in caplog.text, retrying.check)
            network.fail(Fault.BLACK_HOLE)
            desk.put([b"c"], at=LONG_AGO)
            until(lambda: caplog.text.count(stopped) > 1, retrying.check)
            network.heal()
            until(lambda: b"c" in {m.value() for m in desk.retries()}, retrying.check)
            until(lambda: desk.rows() == [], retrying.check)
            again = "component dispatch of letters runs again"
            until(lambda: again in caplog.text, retrying.check)
        finally:
            network.heal()

    sent = {(m.value(), headers_of(m)["retry_id"]) for m in desk.retries()}
    assert sorted(value or b"" for value, _ in sent) == [b"a", b"b", b"c"]  # one id each


@pytest.mark.proves("R-05")
def test_letters_wait_while_the_database_is_away(
    postgresql_desk: Desk, postgresql: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Its connections end, and for a while it accepts none."""
    desk = postgresql_desk
    database = desk.url.rpartition("/")[2].partition("?")[0]
    with desk.retrying(retry_s=0.1, retry_backoff="fixed:0s") as retrying:
        try:
            postgresql.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
            postgresql.execute(LET_GO.replace("current_database()", f"'{database}'"))
            desk.put([b"a", b"b"], at=LONG_AGO)
            until(lambda: said("stopped", caplog), retrying.check)
            postgresql.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
            until(lambda: len(desk.retries()) == 2, retrying.check)
            until(lambda: desk.rows() == [], retrying.check)
            until(lambda: said("runs again", caplog), retrying.check)
        finally:
            postgresql.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")

    assert sorted(m.value() or b"" for m in desk.retries()) == [b"a", b"b"]


def said(what: str, caplog: pytest.LogCaptureFixture) -> bool:
    """Return whether both have said it.

    One connection that fails makes the pool open all others again: a component that slept and
    wakes when the database is back, has noticed nothing and says nothing.
    """
    parts = ("intake of letters", "dispatch of letters")
    return all(f"component {part} {what}" in caplog.text for part in parts)
