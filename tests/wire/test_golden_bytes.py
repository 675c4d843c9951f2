"""The bytes of every record type as they once were: old records are in Kafka forever.

`golden.json` is append-only: a schema of a new version adds lines under a new schema id, and what
is there must be readable forever.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.application import APPLICATION, CATALOG, newest
from tests.wire.examples import EXAMPLES, Example

pytestmark = pytest.mark.proves("G-08")

GOLDEN: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("golden.json").read_text())
BY_NAME = {example.name: example for example in EXAMPLES}


def schema_id(value: bytes) -> str:
    """Return the schema id in the frame, as it is a key of the golden file."""
    return str(int.from_bytes(value[1:5], "big"))


def fields_added_since(number: str) -> dict[str, Any]:
    """Return what the newest version has beyond schema `number`, with what old records get."""
    written = CATALOG.schemas.by_id[int(number)]
    there = {field["name"] for field in written.schema["fields"]}
    now = newest(written.subject).schema["fields"]
    return {field["name"]: field["default"] for field in now if field["name"] not in there}


def with_fields(record: Any, fields: dict[str, Any]) -> Any:
    """Return a dataclass or a model with other values in these fields."""
    if isinstance(record, BaseModel):
        return record.model_copy(update=fields)
    return replace(record, **fields)


@pytest.mark.parametrize("example", EXAMPLES, ids=BY_NAME.keys())
def test_the_bytes_of_a_record_are_what_they_always_were(example: Example) -> None:
    value = example.encode(example.record)

    golden = GOLDEN.get(schema_id(value), {}).get(example.name)
    assert golden == value.hex(), "the wire has changed: a changed class needs a new schema version"


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for each in GOLDEN.values() for name, value in each.items()],
    ids=[f"{number} {name}" for number, each in GOLDEN.items() for name in each],
)
def test_what_was_once_written_is_read_for_ever(name: str, value: str) -> None:
    written = bytes.fromhex(value)

    record = BY_NAME[name].record
    added = fields_added_since(schema_id(written))
    assert BY_NAME[name].decode(written) == (with_fields(record, added) if added else record)


def test_every_schema_that_ever_was_has_golden_bytes() -> None:
    assert sorted(map(int, GOLDEN)) == sorted(CATALOG.schemas.by_id)


def test_every_type_has_golden_bytes_in_the_newest_schema() -> None:
    for aggregate_type in APPLICATION.aggregate_types:
        events = GOLDEN[str(newest(f"{aggregate_type}_event").id)]
        commands = GOLDEN[str(newest(f"{aggregate_type}_command").id)]
        assert set(events) == {
            f"{aggregate_type} {name}" for name in APPLICATION.aggregate(aggregate_type).event_types
        }
        assert set(commands) == {
            f"{aggregate_type} {name}"
            for name in APPLICATION.aggregate(aggregate_type).command_types
        }
