"""An event that was archived before its schema grew is as it was written, and so is a later row."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.position import PositionClosed
from tests.kit.log import EventLog
from verdict.model.aggregate import Aggregate
from verdict.model.application import Application
from verdict.model.command import CREATING, Command
from verdict.model.message import Event, Message, Text
from verdict.operations.audit.archived import ArchivedCopies, differences, event_of
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.builtin.rows import archived_event
from verdict.streaming.event_log.record import RawRecord
from verdict.wire.catalog import AggregateContext, Catalog
from verdict.wire.records import encode_event
from verdict.wire.schemas.write import (
    IncompatibleSchemaError,
    UnknownSubjectError,
    write_those_of_the_aggregates,
)

Row = dict[str, Any]


class OpenThing(Command):
    starts_from = CREATING

    title: Text


class Thing(Message):
    title: Text


def things(**fields: Any) -> Application:
    """Return an application with one event, `ThingOpened`, which has these fields."""
    opened = type("ThingOpened", (Event,), {"__module__": __name__, **fields})
    aggregate = Aggregate(
        name="thing", state=Thing, commands=OpenThing, events=opened,
        decide=lambda state, command: [], evolve=lambda state, event: state,
    )  # fmt: skip
    return Application(
        name="things", aggregates=(aggregate,), schemas="things_schemas", namespace="things"
    )


FIRST = things(__annotations__={"title": Text, "street": Text})
GROWN = things(__annotations__={"title": Text, "street": Text, "lang": Text}, lang="en")


@pytest.fixture(autouse=True)
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep schema files of our own."""
    (tmp_path / "things_schemas" / "avro").mkdir(parents=True)
    (tmp_path / "things_schemas" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "things_schemas", raising=False)
    importlib.invalidate_caches()


@pytest.fixture
def value() -> bytes:
    """Return an event as the first schema writes it."""
    event = EventLog().add_unseen("t-1", PositionClosed())
    assert len([*write_those_of_the_aggregates(FIRST)]) == 2
    opened = FIRST.aggregate("thing").event_types["ThingOpened"]
    payload = opened.model_validate({"title": "x", "street": "y"})
    return encode_event(context_of(FIRST), event._replace(aggregate_type="thing", payload=payload))


def context_of(application: Application) -> AggregateContext:
    """Return its aggregate, with codecs for the files as they are now."""
    return Catalog(application)["thing"]


def archived(context: AggregateContext, value: bytes) -> Row:
    """Return the row that is archived of an event today."""
    content = event_of(
        context, ArchivedCopies(None, RawRecord("thing.events", 0, 1, b"t-1", value))
    ).content
    delivery = Delivery("thing.events", 0, 1, content.event, value)  # type: ignore[union-attr]
    return {"global_position": 1, **archived_event(delivery)._asdict()}


def found(context: AggregateContext, row: Row, value: bytes) -> list[str]:
    """Return what is wrong with a row next to its record."""
    copies = ArchivedCopies(row, RawRecord("thing.events", 0, 1, b"t-1", value))
    return [one.what for one in differences(context, copies, event_of(context, copies), 2, 0)]


@pytest.mark.proves("C-16")
def test_neither_a_row_of_before_nor_one_of_later_was_altered(value: bytes) -> None:
    before = archived(context_of(FIRST), value)
    [*write_those_of_the_aggregates(GROWN)]
    context = context_of(GROWN)
    later = archived(context, value)
    assert before["payload"] != later["payload"]
    assert found(context, before, value) == found(context, later, value) == []
    forged = before["payload"].replace('"y"', '"z"')
    assert found(context, {**before, "payload": forged}, value) == [
        "row 1 of event_archive was altered: payload not as archived"
    ]
    assert len(found(context, {**before, "payload": '{"type":"ThingOpened"}'}, value)) == 1


@pytest.mark.parametrize(
    "other",
    [
        things(__annotations__={"title": Text}),
        things(__annotations__={"title": Text, "road": Text}, road="?"),
    ],
    ids=["dropped", "renamed"],
)
def test_what_happened_is_not_dropped_from_a_schema(value: bytes, other: Application) -> None:
    said = r"v1 of it wrote: ThingOpened\.street would be .*--unpublished thing_event"
    with pytest.raises(IncompatibleSchemaError, match=said):
        [*write_those_of_the_aggregates(other)]


def test_a_schema_that_never_wrote_a_record_is_replaced(value: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "things_schemas" / "avro"
    first = json.loads((folder / "ids.json").read_text())
    fewer = things(__annotations__={"title": Text})
    written = [file.name for file in write_those_of_the_aggregates(fewer, ["thing_event"])]
    assert [*write_those_of_the_aggregates(fewer, ["thing_event"])] == []

    entries = json.loads((folder / "ids.json").read_text())
    assert written == ["thing_event.v1.avsc"]
    assert [(one["subject"], one["version"]) for one in entries] == [
        ("thing_command", 1),
        ("thing_event", 1),
    ]
    [new], [old] = (
        [e["id"] for e in of if e["subject"] == "thing_event"] for of in (entries, first)
    )
    assert new != old
    assert "street" not in (folder / "thing_event.v1.avsc").read_text()


def test_only_schemas_of_the_application_are_replaced() -> None:
    with pytest.raises(UnknownSubjectError, match="there are thing_command, thing_event"):
        [*write_those_of_the_aggregates(FIRST, ["response"])]
