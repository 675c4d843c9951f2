r"""A NUL in a text is refused in commands; one that is stored already is shown as `\0`."""

import importlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field, StringConstraints

from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog
from verdict.model.aggregate import Aggregate
from verdict.model.application import Application
from verdict.model.command import CREATING, Command
from verdict.model.message import Event, Message
from verdict.model.nul import nul_in, spell_out_nul_in
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.builtin.aggregate_state import aggregate_state
from verdict.read_side.projections.builtin.event_archive import event_archive
from verdict.wire.catalog import catalog_of
from verdict.wire.json import payload_from
from verdict.wire.records import encode_event
from verdict.wire.schemas.write import write_those_of_the_aggregates
from verdict.wire.topics import Topics

NoBlank = Annotated[str, StringConstraints(pattern=r"^[^ ]+$")]  # and a NUL, as patterns go


class Line(Message):
    text: str
    code: NoBlank = "-"


class Write(Command):
    starts_from = CREATING

    note: str
    lines: list[Line] = Field(default_factory=list)
    words: dict[str, str] = Field(default_factory=dict)


class Written(Event):
    note: str
    lines: list[Line] = Field(default_factory=list)
    words: dict[str, str] = Field(default_factory=dict)


class Note(Message):
    note: str
    lines: list[Line]


def evolve(state: Note | None, event: Written) -> Note:
    return Note(note=event.note, lines=event.lines)


NOTE = Aggregate("note", Note, lambda *_: [], evolve, Write, Written)
APP = Application(name="notes", aggregates=(NOTE,), schemas="nul_schemas", namespace="notes")
HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"note": "a\0b"}, "note"),
    ({"note": "a", "lines": [Line(text="b"), Line(text="\0")]}, "lines.1.text"),
    ({"note": "a", "words": {"b": "\0"}}, "words.b"),
    ({"note": "a", "words": {"\0": "b"}}, "words"),
    ({"note": "a", "lines": [Line(text="b", code="\0")]}, "lines.0.code"),
]


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an application whose texts are without a pattern, with schema files of its own."""
    (tmp_path / "nul_schemas" / "avro").mkdir(parents=True)
    (tmp_path / "nul_schemas" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nul_schemas", raising=False)
    importlib.invalidate_caches()
    [*write_those_of_the_aggregates(APP)]
    catalog_of.cache_clear()


@pytest.mark.parametrize(("fields", "path"), HOSTILE)
def test_a_nul_is_found_in_each_text_of_a_command(fields: dict[str, Any], path: str) -> None:
    """`test_accepted_is_kept` sends such commands."""
    assert nul_in(Write(**fields)) == path


def test_nothing_else_is_refused_or_changed() -> None:
    sound = Written(note="\\u0000", lines=[Line(text="\x01")], words={"\\0": ""})

    assert nul_in(sound) is None
    assert spell_out_nul_in(sound) is sound


def test_an_operator_s_payload_has_no_nul() -> None:
    with pytest.raises(ValueError, match=r"lines\.0\.text has the character NUL"):
        payload_from(Written, r'{"note": "", "lines": [{"text": "\u0000"}]}')


@pytest.mark.both_databases
def test_a_stored_nul_is_shown(new_database: NewDatabase) -> None:
    log = EventLog(1, "note", application=APP)
    event = log.add_unseen("n-1", Written(note="a\0b", lines=[Line(text="\0")], words={"\0": "c"}))
    value = encode_event(catalog_of(APP)["note"], event)
    read_side = ReadSide(new_database(), [event_archive(APP), aggregate_state(NOTE)])
    delivery = RecordDecoder(Topics(APP)).delivery("note.events", 0, 0, b"n-1", value)
    log.deliveries, log.ends = [delivery], dict.fromkeys(log.partitions, 1)
    for name in ("event_archive", "note_state"):
        read_side.applier(name, application=APP).apply(log.everything())

    [(payload, hashed)] = read_side.select("SELECT payload, hash FROM event_archive")
    states = read_side.select("SELECT note, lines FROM note_state")
    read_side.close()

    plain = json.loads(payload) if isinstance(payload, str) else payload
    assert plain == {
        "type": "Written", "note": r"a\0b", "words": {r"\0": "c"},
        "lines": [{"text": r"\0", "code": "-"}],
    }  # fmt: skip
    assert delivery.value == value
    [(note, lines)] = states
    assert note == r"a\0b"
    assert (json.loads(lines) if isinstance(lines, str) else lines) == [
        {"text": r"\0", "code": "-"}
    ]
    assert len(hashed) == 64
