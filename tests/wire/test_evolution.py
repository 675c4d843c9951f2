"""What a newer schema cannot read of an older one is named before a file of it is written."""

from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.utils import generate_one
from hypothesis import given
from hypothesis import strategies as st

from verdict.wire.schemas.write import gone_from, lost_in

Schema = dict[str, Any]
OPENED: Schema = {
    "type": "record", "name": "Opened", "namespace": "shop",
    "fields": [{"name": "street", "type": "string"}],
}  # fmt: skip
STATUS = {"type": "enum", "name": "Status", "namespace": "shop", "symbols": ["ON", "OFF"]}
CLOSED = {"type": "record", "name": "Closed", "namespace": "shop", "fields": []}


def event(*kinds: object) -> Schema:
    payload = {"name": "payload", "type": [*kinds]}
    return {"type": "record", "name": "Event", "namespace": "shop", "fields": [payload]}


def with_field(kind: object, **more: object) -> Schema:
    """Return the first event with a field more."""
    return {**OPENED, "fields": [*OPENED["fields"], {"name": "grams", "type": kind, **more}]}


BEFORE = event(OPENED, CLOSED)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (event(OPENED, CLOSED), []),
        (event(CLOSED, OPENED, {**CLOSED, "name": "Lost"}), []),
        (event(with_field("long", default=0), CLOSED), []),
        (event(with_field(["null", "long"], default=None), CLOSED), []),
        (event({**OPENED, "fields": []}, CLOSED), []),
        (
            event(with_field("long"), CLOSED),
            ["Opened.grams is new and has no default: give it one"],
        ),
        (event(OPENED), ["Event.payload was Opened or Closed, and becomes Opened"]),
        (
            event({**OPENED, "fields": [{"name": "street", "type": "long"}]}, CLOSED),
            ["Opened.street was string, and becomes long"],
        ),
        (
            {**BEFORE, "name": "Fact"},  # in Avro's words
            ["expected: shop.Event (at /name)"],
        ),
    ],
)
def test_what_cannot_be_read_any_more_is_named(after: Schema, said: list[str]) -> None:
    assert lost_in(BEFORE, after) == said


def test_a_word_that_is_not_there_any_more_is_named() -> None:
    status = {**OPENED, "fields": [{"name": "status", "type": STATUS}]}
    fewer = {**OPENED, "fields": [{"name": "status", "type": {**STATUS, "symbols": ["ON"]}}]}

    assert lost_in(fewer, status) == []
    assert lost_in(status, fewer) == ["Status does not have OFF any more"]


def test_a_field_that_is_not_there_any_more_is_named() -> None:
    """Avro reads on without it, and its absence would show only when it is used."""
    renamed = {**OPENED, "fields": [{"name": "road", "type": "string", "default": "?"}]}

    assert lost_in(BEFORE, event(renamed, CLOSED)) == []
    assert gone_from(BEFORE, event(renamed, CLOSED)) == ["Opened.street"]
    assert gone_from(BEFORE, event(with_field("long", default=0), CLOSED)) == []
    assert gone_from(BEFORE, event(CLOSED)) == []  # `lost_in` names it


TYPES = st.sampled_from(
    ["string", "long", "boolean", ["null", "long"], {"type": "array", "items": "string"}]
)
FIELDS = st.dictionaries(st.sampled_from("abc"), st.tuples(TYPES, st.booleans()), max_size=3)
DEFAULTS = {"string": "", "long": 0, "boolean": False}


def record(found: dict[str, tuple[object, bool]]) -> Schema:
    fields = []
    for name, (kind, has_default) in found.items():
        field = {"name": name, "type": kind}
        if has_default:
            field["default"] = DEFAULTS[kind] if isinstance(kind, str) else _empty(kind)
        fields.append(field)
    return {"type": "record", "name": "Any", "fields": fields}


def _empty(kind: object) -> object:
    return None if isinstance(kind, list) else []


@given(FIELDS, FIELDS)
def test_what_is_said_to_be_readable_avro_s_own_reader_reads(
    older: dict[str, tuple[object, bool]], newer: dict[str, tuple[object, bool]]
) -> None:
    """The oracle is fastavro, by a value that it makes of the older schema."""
    before, after = record(older), record(newer)
    written = BytesIO()
    schemaless_writer(written, parse_schema(before), generate_one(before))
    written.seek(0)

    if not lost_in(before, after):
        schemaless_reader(written, parse_schema(before), parse_schema(after))
