"""A field of each kind that may be declared, in each place for one, works wherever data goes."""

import importlib
import json
import sys
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from pydantic_core import to_jsonable_python

from tests.conftest import NewDatabase
from tests.kit.databases import ReadSide
from tests.kit.log import EventLog
from tests.model.declared import APP, KINDS, SCHEMAS, as_json, command_name, values
from verdict.adapters.sql.readers.reader import Reader
from verdict.cli.send import command_from
from verdict.http.commands import sendable
from verdict.model.command import Command
from verdict.model.message import Event, Message
from verdict.operations.inspect.aggregate import state_json
from verdict.operations.repair.blocked_aggregates import parse_payload
from verdict.read_side.projections.builtin.aggregate_state import aggregate_state
from verdict.read_side.projections.builtin.event_archive import event_archive
from verdict.testing.in_memory import InMemory
from verdict.wire.catalog import catalog_of
from verdict.wire.json import payload_from, readable, readable_command
from verdict.wire.records import decode_event
from verdict.wire.response import Response
from verdict.wire.schemas.write import write_those_of_the_aggregates
from verdict.wire.stored_event import StoredEvent
from verdict.write_side.decide.digest import command_digest
from verdict.write_side.decide.fold import fold

every_kind = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(scope="module", autouse=True)
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use the application that has them all, with schema files of its own."""
    folder = tmp_path_factory.mktemp("schemas")
    (folder / SCHEMAS / "avro").mkdir(parents=True)
    (folder / SCHEMAS / "__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.delitem(sys.modules, SCHEMAS, raising=False)
        importlib.invalidate_caches()
        assert len([*write_those_of_the_aggregates(APP)]) == 2 * len(KINDS)
        yield


@pytest.fixture(scope="module")
def app(application: None) -> Iterator[InMemory]:
    """Return it in memory; each kind of field has an aggregate of its own."""
    with InMemory(APP) as found:
        yield found


def command_of(name: str) -> Command:
    return APP.aggregate(f"of_{name}").command_types[command_name(name)](**values(name))


def event_of(name: str, kind: str) -> Event:
    return APP.aggregate(f"of_{name}").event_types[f"{kind}_{name}"](**values(name))


def sent_as_json(
    app: InMemory, name: str, aggregate_id: str, command_id: str, **changed: Any
) -> Response:
    """Return what becomes of the command, with some fields changed, as REST hands it on."""
    envelope = {
        "command_id": command_id, "aggregate_id": aggregate_id, "expected_version": "ANY",
        "payload": {"type": command_name(name), **as_json(name), **changed},
    }  # fmt: skip
    *_, value = sendable(json.dumps(envelope).encode())
    record = app.put(f"of_{name}.commands", value, aggregate_id.encode())
    response = app.response_to(record.source)
    assert response is not None, app.events("dead-letters")
    return response


@every_kind
def test_json_and_avro_and_fields_of_the_command_line_say_the_same_command(
    app: InMemory, name: str
) -> None:
    command = command_of(name)
    texts = [f"{field}={json.dumps(value)}" for field, value in as_json(name).items()]
    texts[:2] = [f"{field}={KINDS[name].argument}" for field in ("plain", "optional")]

    as_avro = app.send("one", command, 0, command_id="c-1")
    [record] = app.events(f"of_{name}.commands")
    again = sent_as_json(app, name, "one", "c-1")
    other = sent_as_json(app, name, "other", "c-1")

    assert as_avro.message is other.message is None
    assert again.duplicate, again.message
    assert as_avro.command_digest == other.command_digest == command_digest(command)
    assert command_from(APP, f"of_{name}", command_name(name), texts) == command
    shown = readable_command(catalog_of(APP)[f"of_{name}"], record.value or b"")["payload"]
    assert shown == {"type": command_name(name), **as_json(name)}


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("int", 2**63, "must be an integer from -2^63 to 2^63 - 1"),
        ("int", -(2**63) - 1, "must be an integer from -2^63 to 2^63 - 1"),
        ("int", 1.0, "Input should be a valid integer"),
        ("int", "1", "Input should be a valid integer"),
        ("bool", 1, "Input should be a valid boolean"),
        ("bytes", "é", "Data should be valid base64: Invalid symbol 195, offset 0."),
        ("bytes", 1, "Input should be a valid bytes"),
        ("hash", "zz", "non-hexadecimal number found in fromhex() arg at position 0"),
        ("growing", "blue", "Input should be 'red'"),
        (
            "instant",
            "2026-11-21",
            "time '2026-11-21' needs a time zone, for example 2026-11-21T00:00:00Z",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_its_place(
    app: InMemory, name: str, wrong: Any, problem: str
) -> None:
    places = {
        "plain": (wrong, "plain"),
        "listed": ([as_json(name)["plain"], wrong], "listed.1"),
        "mapped": ({"a": wrong}, "mapped.a"),
        "payload": ({"type": wrong}, "payload.type"),
        "named_parts": ({"a": {"type": wrong}}, "named_parts.a.type"),
    }
    for field, (value, place) in places.items():
        response = sent_as_json(app, name, "refused", "c-1", **{field: value})

        assert response.reason == "INVALID_COMMAND"
        assert response.details == {f"payload.{place}": problem}


@every_kind
def test_the_digest_of_a_command_is_that_of_its_canonical_json(name: str) -> None:
    fields = as_json(name)
    if name in ("instant", "message"):  # times are the numbers that the fields hold
        fields = to_jsonable_python(command_of(name).model_dump(), bytes_mode="base64")
        fields = json.loads(json.dumps(fields).replace("_w==", "/w=="))
    said = json.dumps(
        {**fields, "type": command_name(name)},
        sort_keys=True, separators=(",", ":"), ensure_ascii=False,
    )  # fmt: skip

    assert command_digest(command_of(name)) == sha256(said.encode()).digest()


@every_kind
def test_what_happened_is_shown_archived_and_edited_as_it_was_decided(
    app: InMemory, name: str
) -> None:
    sent_as_json(app, name, "shown", "c-1")
    record = next(one for one in app.events(f"of_{name}.events") if one.key == b"shown")
    of_it = "aggregate_id = 'shown' AND aggregate_type ="
    [archived] = app.sql(f"SELECT payload FROM event_archive WHERE {of_it} 'of_{name}'")
    value = record.value or b""
    recorded = decode_event(catalog_of(APP)[f"of_{name}"], value)
    shown = {"type": f"Was_set_{name}", **as_json(name)}
    edited = parse_payload(recorded, json.dumps(shown).encode())

    assert recorded.payload == event_of(name, "Was_set")
    assert readable(recorded)["payload"] == json.loads(archived["payload"]) == shown
    assert json.loads(edited) == shown
    assert payload_from(type(recorded.payload), edited) == recorded.payload
    state = fold(APP.aggregate(f"of_{name}"), [StoredEvent(recorded, value)])
    assert state_json(f"of_{name}", "shown", state, recorded.source)["state"] == {
        **as_json(name), "type": name, "version": 0, "state_version": 1,
        "masked_plain": "seen", "order": 2, "Select": 3,
    }  # fmt: skip


@pytest.mark.both_databases
def test_a_view_of_states_shows_the_same_however_often_it_is_brought_forward(
    new_database: NewDatabase,
) -> None:
    states = {name: aggregate_state(APP.aggregate(f"of_{name}")) for name in KINDS}
    read_side = ReadSide(new_database(), [event_archive(APP), *states.values()])
    for name, projection in states.items():
        applier, log = (
            read_side.applier(projection.name, application=APP),
            EventLog(1, f"of_{name}", application=APP),
        )
        asked = (
            f"SELECT {', '.join(as_json(name))}, type, state_state_version, state_version, "
            f'state_masked_plain, "order", "Select" FROM {projection.name}'
        )

        log.add("one", event_of(name, "Was_set"))
        applier.apply(log.batch())
        [first] = read_side.select(asked)
        for _ in range(3):
            log.add("one", event_of(name, "Touched"))
            applier.apply(log.batch())
        [last] = read_side.select(asked)

        assert first == last
        assert plain(last[0]) == plain(last[1]) == plain(in_sql(name))
        assert [*map(plain, last[2:7])] == [*as_json(name).values()][2:]
        assert last[7:] == (name, 0, 1, "seen", 2, 3)
    read_side.close()


@pytest.mark.both_databases
def test_what_is_personal_is_hidden_wherever_a_message_holds_it(new_database: NewDatabase) -> None:
    projections: list[Any] = [event_archive(APP), aggregate_state(APP.aggregate("of_name"))]
    read_side, log = ReadSide(new_database(), projections), EventLog(1, "of_name", application=APP)
    log.add("one", event_of("name", "Was_set"))
    for projection in projections:
        read_side.applier(projection.name, application=APP).apply(log.everything())

    def seen(role: str, masked: bool) -> tuple[Any, ...]:
        with Reader(read_side.url, ["event_archive", "of_name_state"], role, masked=masked) as one:
            [(payload,)] = one.select("SELECT payload FROM event_archive").rows
            [columns] = one.select(f"SELECT {', '.join(as_json('name'))} FROM of_name_state").rows
        found = payload if isinstance(payload, dict) else json.loads(payload)
        return found, [*map(plain, columns)]

    shown = {"type": "Was_set_name", **as_json("name")}
    hidden = dict.fromkeys(as_json("name")) | {"type": "Was_set_name", "payload": {"type": None}}
    assert seen("verdict_auditor", masked=False) == (shown, [*as_json("name").values()])
    assert seen("verdict_reader", masked=True) == (hidden, [None] * 7)
    read_side.close()


def plain(shown: Any) -> Any:
    """Return a value of a column, as JSON if it is a text of that, with bytes in base64."""
    if isinstance(shown, bytes):
        return b64encode(shown).decode()
    if isinstance(shown, str) and shown[:1] in ("[", "{", '"'):
        return json.loads(shown)
    return shown


def in_sql(name: str) -> Any:
    """Return what a column shows of a value."""
    value = KINDS[name].value
    return KINDS[name].json if isinstance(value, Message) or name == "instant" else value
