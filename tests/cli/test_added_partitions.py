"""Verbs on a deployment to whose topics somebody has added partitions."""

from collections.abc import Iterator

import pytest

from tests.audit.books import PARTITIONS, PLACE, Books
from tests.cli.conftest import Run
from tests.topics import grow
from verdict.adapters.local.broker import EmbeddedBroker

CANCEL = {"type": "CancelOrder"}


@pytest.fixture(scope="module")
def books(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    """Return a deployment in which orders were placed before partitions were added, and after."""
    books = Books(broker, "grown", tmp_path_factory.mktemp("grown") / "data")
    books.ask("order", "one", PLACE)
    books.settle()
    servers, topics = broker.bootstrap_servers, books.topics
    for topic in topics.outputs():
        grow(servers, topic, PARTITIONS + 3)
    books.ask("order", "one", CANCEL)
    books.ask("order", "two", PLACE)
    books.settle()
    yield books
    books.close()


@pytest.mark.parametrize("setting", [None, PARTITIONS, PARTITIONS + 3])
@pytest.mark.parametrize("name", ["one", "two"])
def test_a_state_is_that_of_all_events_whatever_the_setting_says(
    history: Run, run: Run, monkeypatch: pytest.MonkeyPatch, name: str, setting: int | None
) -> None:
    if setting is not None:
        monkeypatch.setenv("VERDICT_PARTITIONS", str(setting))

    found = run("state", "order", name, "--json")

    assert found.exit_code == 0, found.stderr
    assert [one["version"] for one in found.lines] == [2 if name == "one" else 1]


@pytest.mark.proves("U-02")
def test_added_partitions_are_named_until_a_person_has_accepted_them(
    history: Run, run: Run, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERDICT_PARTITIONS", str(PARTITIONS))
    topics = books.topics
    checked = run("topics", "check")
    assert checked.exit_code == 1
    for topic, count in topics.outputs().items():
        wrong = f"{topic}: partitions is {PARTITIONS + 3}, must be {count} (somebody added"
        assert wrong in checked.stderr
    assert "none of them stops verdict" in checked.stderr

    theirs = run("topics", "accept", topics.named("POS"), "--reason", "a test")
    assert (theirs.exit_code, "POS belongs to another system" in theirs.stderr) == (1, True)
    for topic in topics.outputs():
        assert run("topics", "accept", topic, "--reason", "a test").exit_code == 0
    assert run("topics", "check").exit_code == 0
    assert run("verify").exit_code == 0
