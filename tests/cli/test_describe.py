"""`verdict describe`: what the application declares, for people and as JSON Schema."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from commands.order import PlaceOrder
from compose.application import app
from tests.cli.conftest import Run
from verdict import Event, Message, Personal, Text
from verdict.cli.describe import fields_of, type_of


class Street(Message):
    name: Annotated[Text, Personal()]
    number: int = 1


class Kept(Event):
    short: Annotated[str, Field(max_length=3, pattern="^[a-z]+$")]
    streets: Annotated[list[Street], Field(min_length=1, max_length=2)]
    main: Street | None = None
    share: Annotated[float, Field(ge=0, lt=1)] = 0.5
    sure: bool | None = True


def test_each_field_has_its_type_its_bounds_and_its_default() -> None:
    assert [*fields_of(Kept)] == [
        ("short", "string", "maxLength 3, pattern ^[a-z]+$", "required", ""),
        ("streets", "list of Street", "minItems 1, maxItems 2", "required", "personal"),
        ("main", "Street", "", "none", "personal"),
        ("share", "number", "minimum 0, exclusiveMaximum 1", "0.5", ""),
        ("sure", "boolean", "", "True", ""),
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "array"),
        ({"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}, "number or string"),
        ({"enum": ["BUY", "SELL"], "type": "string"}, "BUY, SELL"),
        ({"const": "BUY"}, "BUY"),
        ({"type": "string", "format": "password"}, "password"),
        ({}, ""),
    ],
)
def test_a_type_is_described_in_a_few_words(schema: dict[str, Any], words: str) -> None:
    assert type_of(schema) == words


def test_all_parts_of_the_application_are_named(run: Run) -> None:
    shown = run("describe")
    aggregates = [app.aggregate(name) for name in app.aggregate_types]
    others = (app.projections, app.policies, app.notifications, app.inbound, app.verbs)

    words = {*re.findall(r"\w+", shown.stdout)}
    assert {one.name for kind in others for one in kind} | {*app.aggregate_types} <= words
    assert {name for one in aggregates for name in (*one.command_types, *one.event_types)} <= words
    assert {"order_state", "ShareHolding"} <= words
    assert {"event_archive", "outcome", "order_state_version"} & words == set()


def test_an_aggregate_and_a_message_are_described_with_their_fields(run: Run) -> None:
    shown = run("describe", "order").stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    reopening = run("describe", "position", "OpenPosition").stdout

    assert "topics: order.commands, order.events, order.responses, order.rejected" in lines
    assert "command PlaceOrder to one that never existed" in lines
    assert "client string minLength 1, maxLength 256 required" in lines
    assert "event OrderDeleted" in lines
    assert "status text OPEN, PARTIALLY_FILLED, COMPLETED or CANCELLED." in lines
    assert any(line.startswith("view client_overview ") for line in lines)
    assert not any(line.startswith("view us_holder ") for line in lines)
    assert "to one that never existed or one that was deleted" in reopening
    assert "view" not in reopening


def test_as_json_messages_are_json_schemas(run: Run) -> None:
    [every] = run("describe", "--json").lines
    [order] = run("describe", "order", "--json").lines
    [placing] = run("describe", "order", "PlaceOrder", "--json").lines

    schema = json.loads(json.dumps(PlaceOrder.model_json_schema()))
    assert placing == order["commands"]["PlaceOrder"] == schema
    assert every["aggregates"]["order"] == order
    assert every["views"]["us_holder_from_state"]["follows"] == ["share-holders"]
    columns = [one["name"] for one in order["views"]["order_state"]["columns"]]
    assert columns[:3] == ["id", "version", "life_cycle"]


def test_it_needs_the_application_and_its_settings_only(
    run: Run, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERDICT_TOPIC_PREFIX", "eu.")
    unreachable = ("--bootstrap-servers", "127.0.0.1:1", "--database-url", "sqlite:////no/such")

    assert "eu.order.commands" in run("describe", "order", *unreachable).stdout
    assert list(environment.iterdir()) == []
