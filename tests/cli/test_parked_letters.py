"""`verdict dead-letters` on letters that were tried often enough: the tables alone are enough."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert, select, update

from commands.order import CancelOrder
from tests.application import APPLICATION, decode_command, encode_command
from tests.cli.conftest import Run, Verdict
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.source import Source
from verdict.reactions.dead_letters.retry_rules import headers_json
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.tables.dead_letters import intervention, table
from verdict.read_side.tables.row_states import PARKED
from verdict.wire.dead_letter_record import dead_letter_id

pytestmark = pytest.mark.proves("B-09")

AT = Source("dead-letters", 2, 17)
ID = dead_letter_id(AT)
NOON = 1_795_262_400_000
Letters = Callable[..., Verdict]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Return a read side with one parked letter."""
    engine = open_database(f"sqlite:///{tmp_path / 'verdict.db'}")
    create_read_side(engine, projections(APPLICATION))
    parked = {
        "id": ID,
        "topic": AT.topic,
        "partition": AT.partition,
        "offset": AT.offset,
        "attempt": 3,
        "attempts": 3,
        "retry_topic": "parcels",
        "status": PARKED,
        "error": "tried 3 times",
        "key": b"p-1",
        "bytes": b'{"to": "Main Street"}',
        "headers": headers_json((("color", b"red"),)),
        "received_at": NOON,
    }
    with engine.begin() as connection:
        connection.execute(insert(table).values(parked))
    yield engine
    engine.dispose()


@pytest.fixture
def letters(run: Run, tmp_path: Path, engine: Engine) -> Letters:
    """Return a function that calls `verdict dead-letters`."""

    def call(*arguments: object, stdin: str | None = None) -> Verdict:
        return run("dead-letters", *arguments, "--data-dir", tmp_path, stdin=stdin)

    return call


def test_one_is_listed_and_shown_with_what_it_holds(letters: Letters) -> None:
    [listed] = letters("list", "--json").lines
    [shown] = letters("show", ID, "--json").lines

    assert (listed["id"], listed["kind"]) == (ID, "letter")
    assert listed["what"] == "dead letter for parcels, tried again 3 times"
    assert (listed["since"], listed["error"]) == ("2026-11-21T12:00:00.000Z", "tried 3 times")
    assert ID in letters("list").stdout
    assert (shown["payload"], shown["key"]) == ('{"to": "Main Street"}', "p-1")
    assert shown["headers"] == [["color", "red"]]
    assert (shown["topic"], shown["partition"], shown["offset"]) == ("dead-letters", 2, 17)
    assert shown["interventions"] == []


def test_a_command_is_shown_as_what_may_be_sent_in_its_place(
    letters: Letters, engine: Engine
) -> None:
    """By people, who write no Avro."""
    asked = CommandEnvelope(command_id="c", aggregate_id="o-1", expected_version=3, payload={})
    value = encode_command("order", asked, CancelOrder())
    with engine.begin() as connection:
        connection.execute(update(table).values(retry_topic="order.commands", bytes=value))

    [shown] = letters("show", ID, "--json").lines

    sent = json.dumps(shown["payload"]).encode()
    assert decode_command("order", value) == decode_command("order", sent)


def test_one_is_edited_parked_replayed_and_skipped_on_record(
    letters: Letters, engine: Engine
) -> None:
    file = ("--file", "-", "--reason", "a typo", "--operator", "ada")
    edited = letters("edit", ID, *file, stdin='{"to": "Elm Street"}')
    replayed = letters("replay", ID, "--operator", "bob")
    none, waiting = (letters("list", "--json", *more).lines for more in ((), ("--waiting",)))
    with engine.connect() as connection:
        sent = connection.execute(select(table.c.bytes, table.c.attempts)).one()
    parked = letters("park", ID, "--reason", "the target is gone", "--operator", "ada")
    again = letters("park", ID, "--reason", "twice")
    skipped = letters("skip", ID, "--reason", "nobody lives there", "--operator", "ada")
    gone = letters("show", ID)

    assert edited.stderr == f"{ID} is edited: `verdict dead-letters replay {ID}` sends it\n"
    assert replayed.stderr.startswith(f"{ID} goes back to parcels at once")
    assert (none, [one["status"] for one in waiting]) == ([], ["WAITING"])
    assert tuple(sent) == (b'{"to": "Elm Street"}', 4)
    assert parked.stderr == f"{ID} is parked: `verdict dead-letters replay {ID}` sends it\n"
    assert (again.exit_code, "is parked already" in again.stderr) == (1, True)
    assert (skipped.exit_code, skipped.stderr) == (0, f"{ID} is skipped\n")
    assert gone.exit_code == 1
    assert gone.stderr.startswith(f"verdict: nothing waits at '{ID}'")
    columns = (intervention.c.kind, intervention.c.operator, intervention.c.reason)
    with engine.connect() as connection:
        assert connection.execute(select(table)).all() == []
        kept = [(*one,) for one in connection.execute(select(*columns))]
    assert [one[:2] for one in kept] == [
        ("edit", "ada"), ("replay", "bob"), ("park", "ada"), ("evict", "ada"),
    ]  # fmt: skip
    assert [reason for *_, reason in kept] == [
        "a typo", None, "the target is gone", "nobody lives there",
    ]  # fmt: skip
