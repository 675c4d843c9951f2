"""`verdict describe`: what the application is made of, by the application itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from verdict.cli.options import Json, known_aggregate, settings_of
from verdict.cli.render import add_rows, note, show, show_json, table
from verdict.model.aggregate import Aggregate
from verdict.model.command import Command, LifeCycle
from verdict.model.message import LARGEST, Message
from verdict.model.personal import personal_paths
from verdict.read_side.catalog import of_every_application, projections
from verdict.read_side.projections.described import View, ViewColumn, about_view, columns_of
from verdict.settings.settings import Settings
from verdict.wire.topics import Topics

app = typer.Typer(add_completion=False)

STARTS = {
    LifeCycle.NONE: "one that never existed",
    LifeCycle.ACTIVE: "one that is there",
    LifeCycle.DELETED: "one that was deleted",
}

BOUNDS = (
    "exclusiveMinimum", "minimum", "exclusiveMaximum", "maximum", "minLength", "maxLength",
    "minItems", "maxItems", "pattern",
)  # fmt: skip
OF_ALL = (LARGEST, r"^[^\x00]+$")  # each integer and text of a message has this bound
Schema = Mapping[str, Any]

Parts = Iterator[Table | Text | str]
Of = Aggregate[Message]


class Field(NamedTuple):
    """A field of a message; `bounds` are keywords of JSON Schema."""

    field: str
    type: str
    bounds: str
    default: str
    about: str


class Description(NamedTuple):
    """A view of a read model, and the topics that this follows."""

    name: str
    view: View
    follows: Sequence[str]


@app.command()
def describe(
    aggregate: Annotated[
        str | None,
        typer.Argument(
            metavar="AGGREGATE", callback=known_aggregate, help="One of them.", show_default="all"
        ),
    ] = None,
    message: Annotated[
        str | None,
        typer.Argument(metavar="COMMAND", help="A command or event of it.", show_default="all"),
    ] = None,
    json: Json = False,
) -> None:
    """Show aggregates, commands, events, topics and views, as the application declares them.

    Of one aggregate with all fields: types, bounds, defaults, and what is personal. With --json
    commands and events are JSON Schemas. No service and no database is asked.
    """
    settings = settings_of()
    one = None if aggregate is None else settings.application.aggregate(aggregate)
    if one is None:
        facts, parts = _application_facts(settings), _application(settings)
    elif message is None:
        facts, parts = _aggregate_facts(one, settings), _aggregate(one, settings)
    else:
        kind = _message(one, message)
        facts, parts = kind.model_json_schema(), _told(kind)
    if json:
        show_json(facts)
        return
    show(*parts)
    if one is None:
        note("`verdict describe AGGREGATE` shows fields and columns, `verdict sql` every view")


def _message(aggregate: Of, name: str) -> type[Message]:
    known = {**aggregate.command_types, **aggregate.event_types}
    if name not in known:
        raise typer.BadParameter(
            f"{aggregate.name} has no command or event {name!r}: it has {', '.join(known)}"
        )
    return known[name]


def _application(settings: Settings) -> Parts:
    application = settings.application
    yield Text(f"{application.name}\n", "bold")
    yield add_rows(
        table("aggregate", "commands", "events"),
        (
            (one.name, ", ".join(one.command_types), ", ".join(one.event_types))
            for one in map(application.aggregate, application.aggregate_types)
        ),
    )
    yield ""
    yield add_rows(
        table("view", "follows", "about"),
        ((one.name, ", ".join(one.follows), about_view(one.view)) for one in _views(settings)),
    )
    if others := [*_others(settings.topics)]:
        yield ""
        yield add_rows(table("also", "name", "about"), others)


def _others(topics: Topics) -> Iterator[tuple[str, str, str]]:
    """Yield what an application has besides aggregates and read models."""
    application = topics.application
    for policy in application.policies:
        expected = ", ".join(sorted(policy.expected_rejections)) or "none"
        about = f"follows {', '.join(policy.follows)}, expects the rejections: {expected}"
        yield "policy", policy.name, about
    for one in application.notifications:
        topic = topics.named(one.topic)
        yield "notification", one.name, f"follows {', '.join(one.follows)}, writes to {topic}"
    for inbound in application.inbound:
        topic = topics.named(inbound.topic)
        yield "inbound", inbound.name, f"reads {topic}, asks {inbound.aggregate_type}"
    for state in application.state_topics:
        yield "state of others", state.state.__name__, f"on {topics.named(state.topic)}"
    for verb in application.verbs:
        yield "verb", verb.name, verb.summary


def _aggregate(aggregate: Of, settings: Settings) -> Parts:
    yield Text(f"aggregate {aggregate.name}", "bold")
    yield f"topics: {', '.join(_topics(aggregate, settings))}"
    for kind in (*aggregate.command_types.values(), *aggregate.event_types.values()):
        yield ""
        yield from _told(kind)
    for shown in _views(settings, settings.topics.events(aggregate.name)):
        yield ""
        yield Text.assemble(("view ", "dim"), (shown.name, "bold"), f"  {about_view(shown.view)}")
        yield add_rows(table(*ViewColumn._fields), columns_of(shown.view))


def _told(kind: type[Message]) -> Parts:
    """Tell of a command or an event with its fields."""
    said = [f"to {_starts_from(kind)}"] if issubclass(kind, Command) else []
    said += [about] if (about := (kind.__doc__ or "").partition("\n")[0]) else []
    what = "command " if issubclass(kind, Command) else "event "
    yield Text.assemble((what, "dim"), (kind.__name__, "bold"), *(f"  {one}" for one in said))
    if fields := [*fields_of(kind)]:
        yield add_rows(table(*Field._fields), fields)


def fields_of(kind: type[Message]) -> Iterator[Field]:
    """Yield what a message takes; with --json it has the fields of messages inside it, too."""
    schema = kind.model_json_schema()
    personal = {path[0] for path in personal_paths(kind)}
    for name, one in schema.get("properties", {}).items():
        default = "required" if name in schema.get("required", ()) else one.get("default")
        about = [one.get("description", ""), "personal" if name in personal else ""]
        yield Field(
            name,
            type_of(one),
            ", ".join(
                f"{bound} {one[bound]}" for bound in BOUNDS if one.get(bound, LARGEST) not in OF_ALL
            ),
            "none" if default is None else str(default),
            "; ".join(filter(None, about)),
        )


def type_of(schema: Schema) -> str:
    """Return which values a JSON Schema takes."""
    if others := schema.get("anyOf"):
        named = (type_of(one) for one in others if one.get("type") != "null")
        return " or ".join(dict.fromkeys(named))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(map(str, values))
    if schema.get("type") == "array" and (items := type_of(schema.get("items", {}))):
        return f"list of {items}"
    return str(schema.get("format") or schema.get("type", ""))


def _starts_from(kind: type[Command]) -> str:
    return " or ".join(said for state, said in STARTS.items() if state in kind.starts_from)


def _views(settings: Settings, followed: str | None = None) -> Iterator[Description]:
    """Yield the views of the application, those of who follows a topic if one is given."""
    engine = {one.name for one in of_every_application(settings.application)}
    for projection in projections(settings.application, settings.chosen):
        topics = projection.topics(settings.topics)
        if projection.name in engine or followed not in (None, *topics):
            continue
        for name, view in projection.views.items():
            if name != f"{projection.name}_version":  # each has one, and all are alike
                yield Description(name, view, topics)


def _topics(aggregate: Of, settings: Settings) -> list[str]:
    return settings.topics.beside(settings.topics.events(aggregate.name))


def _application_facts(settings: Settings) -> dict[str, Any]:
    application = settings.application
    return {
        "application": application.name,
        "aggregates": {one.name: _aggregate_facts(one, settings) for one in application.aggregates},
        "views": _view_facts(settings),
        "also": [
            {"kind": kind, "name": name, "about": about}
            for kind, name, about in _others(settings.topics)
        ],
    }


def _aggregate_facts(aggregate: Of, settings: Settings) -> dict[str, Any]:
    return {
        "topics": _topics(aggregate, settings),
        "commands": {
            name: kind.model_json_schema() for name, kind in aggregate.command_types.items()
        },
        "events": {name: kind.model_json_schema() for name, kind in aggregate.event_types.items()},
        "views": _view_facts(settings, settings.topics.events(aggregate.name)),
    }


def _view_facts(settings: Settings, followed: str | None = None) -> dict[str, Any]:
    return {
        one.name: {
            "about": about_view(one.view),
            "follows": one.follows,
            "columns": [column._asdict() for column in columns_of(one.view)],
        }
        for one in _views(settings, followed)
    }
