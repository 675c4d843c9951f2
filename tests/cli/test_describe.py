"""`verdict describe`: what the application declares, for people and as JSON Schema."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from commands.enrolment import RecordLogin
from commands.order import PlaceOrder
from compose.application import app
from tests.cli.conftest import Run
from tests.documents import ROOT
from verdict import Event, Instant, Message, Name, Personal, Text
from verdict.cli.schema_words import fields_of, type_of
from verdict.model.rule_codes import codes_of


class Street(Message):
    name: Annotated[Text, Personal()]
    number: int = 1


class Kept(Event):
    short: Annotated[str, Field(max_length=3, pattern="^[a-z]+$")]
    streets: Annotated[list[Street], Field(min_length=1, max_length=2)]
    main: Street | None = None
    at: Instant | None = None
    marks: list[Name] = []  # noqa: RUF012  (pydantic copies it)
    share: Annotated[float, Field(ge=0, lt=1)] = 0.5
    sure: bool | None = True


def test_each_field_is_told_with_type_bounds_and_what_holds_without_it() -> None:
    assert [tuple(field) for field in fields_of(Kept)] == [
        ("short", "text", "at most 3 characters, matches ^[a-z]+$", "required", ""),
        ("streets", "list of Street", "at least 1, at most 2", "required", "personal"),
        ("streets[].name", "text", "not empty", "required", ""),
        ("streets[].number", "integer", "", "1", ""),
        ("main", "Street", "", "none", ""),
        ("main.name", "text", "not empty", "required", "personal"),
        ("main.number", "integer", "", "1", ""),
        ("at", "time", "", "none", ""),
        ("marks", "list of text", "each not empty, at most 256 characters", "[]", ""),
        ("share", "number", "≥ 0, < 1", "0.5", ""),
        ("sure", "boolean", "", "True", ""),
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "list"),
        ({"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}, "number or text"),
        ({"enum": ["BUY", "SELL"], "type": "string"}, "BUY, SELL"),
        ({"const": "BUY"}, "BUY"),
        ({"type": "string", "format": "password"}, "secret"),
        ({}, ""),
    ],
)
def test_a_type_is_told_in_a_word_or_a_few(schema: dict[str, Any], words: str) -> None:
    assert type_of(schema) == words


def test_a_time_is_a_text_or_a_number_of_milliseconds() -> None:
    """The schema takes what the class takes."""
    takes = [one["type"] for one in RecordLogin.model_json_schema()["properties"]["at"]["anyOf"]]

    text = RecordLogin.model_validate_json('{"at": "1970-01-01T00:00:01Z"}')
    assert text == RecordLogin.model_validate_json('{"at": 1000}')
    assert takes == ["string", "integer"]


@pytest.mark.parametrize("name", app.aggregate_types)
def test_the_codes_of_rules_are_those_in_their_file(name: str) -> None:
    rules = (ROOT / "aggregates" / f"{name}.py").read_text()

    assert codes_of(app.aggregate(name)) == sorted(re.findall(r'Refused\(\s*"(\w+)"', rules))


def test_all_parts_of_the_application_are_named(run: Run) -> None:
    shown = run("describe")
    aggregates = [app.aggregate(name) for name in app.aggregate_types]
    messages = [name for one in aggregates for name in (*one.command_types, *one.event_types)]

    assert shown.exit_code == 0
    words = {*re.findall(r"\w+", shown.stdout)}
    assert {*app.aggregate_types, *messages} <= words
    assert {one.name for one in app.read_models} | {one.name for one in app.policies} <= words
    assert {one.name for one in app.notifications} | {one.name for one in app.inbound} <= words
    assert {one.name for one in app.verbs} <= words
    assert {"order_state", "ShareHolding"} <= words
    assert {"event_archive", "outcome", "order_state_version"} & words == set()


def test_an_aggregate_is_told_with_topics_fields_and_views(run: Run) -> None:
    shown = run("describe", "order").stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]

    assert "topics: order.commands, order.events, order.responses, order.rejected" in lines
    assert "its rules refuse with: BELOW_FILLED, ORDER_ENDED, OVERFILL" in lines
    assert "command PlaceOrder to one that never existed" in lines
    assert "client text not empty, at most 256 characters required" in lines
    assert "event OrderDeleted" in lines
    assert "status text OPEN, PARTIALLY_FILLED, COMPLETED or CANCELLED." in lines
    assert any(line.startswith("view client_overview ") for line in lines)
    assert not any(line.startswith("view us_holder ") for line in lines)


def test_one_message_is_told_alone(run: Run) -> None:
    reopening = run("describe", "position", "OpenPosition").stdout
    event = run("describe", "order", "OrderCancelled").stdout

    assert "to one that never existed or one that was deleted" in reopening
    assert "view" not in reopening
    assert [line.split() for line in event.splitlines() if "cause" in line] == [
        ["cause", "text", "not", "empty", "none"]
    ]


def test_as_json_messages_are_json_schemas(run: Run) -> None:
    [every] = run("describe", "--json").lines
    [order] = run("describe", "order", "--json").lines
    [placing] = run("describe", "order", "PlaceOrder", "--json").lines

    assert placing == order["commands"]["PlaceOrder"] == json.loads(
        json.dumps(PlaceOrder.model_json_schema())
    )  # fmt: skip
    assert every["aggregates"]["order"] == order
    assert {*every["aggregates"]} == {*app.aggregate_types}
    assert order["topics"] == [
        "order.commands", "order.events", "order.responses", "order.rejected",
    ]  # fmt: skip
    assert every["views"]["us_holder_from_state"]["follows"] == ["share-holders"]
    assert [one["name"] for one in order["views"]["order_state"]["columns"]][:3] == [
        "id", "version", "life_cycle",
    ]  # fmt: skip


def test_topics_are_named_as_this_deployment_names_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERDICT_TOPIC_PREFIX", "eu.")

    assert "eu.order.commands" in run("describe", "order").stdout


def test_what_there_is_not_is_named(run: Run) -> None:
    aggregate, message = run("describe", "parcel"), run("describe", "loyalty", "Award")

    assert aggregate.exit_code == message.exit_code == 2
    assert "no aggregate 'parcel': there are enrolment, invoice" in " ".join(
        aggregate.stderr.split()
    )
    assert "loyalty has no command or event 'Award': it has AwardPoints, PointsAwarded" in (
        " ".join(message.stderr.replace("│", "").split())
    )


def test_nothing_but_the_application_is_asked(run: Run, environment: Path) -> None:
    unreachable = ("--bootstrap-servers", "127.0.0.1:1", "--database-url", "sqlite:////no/such")

    assert run("describe", "order", *unreachable).exit_code == 0
    assert list(environment.iterdir()) == []
