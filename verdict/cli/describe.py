"""`verdict describe`: the parts of the application, as it declares them."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from verdict.cli.options import AggregateTypeOrAll, Json, settings_of
from verdict.cli.render import note, show, show_json, table
from verdict.model.aggregate import Aggregate
from verdict.model.command import Command, LifeCycle
from verdict.model.message import LARGEST, Fields, Message
from verdict.model.personal import personal_paths
from verdict.read_side.catalog import of_every_application, projections
from verdict.read_side.projections.documented_view import ViewColumn, about_view, columns_of
from verdict.settings.settings import Settings
from verdict.wire.topics import Topics

app = typer.Typer(add_completion=False)

STARTS = {
    LifeCycle.NONE: "one that never existed",
    LifeCycle.ACTIVE: "one that exists",
    LifeCycle.DELETED: "one that was deleted",
}

BOUNDS = (
    "exclusiveMinimum", "minimum", "exclusiveMaximum", "maximum", "minLength", "maxLength",
    "minItems", "maxItems", "pattern",
)  # fmt: skip
OF_ALL = (None, LARGEST, r"^[^\x00]+$")  # no bound, or one of each integer or each text


@app.command()
def describe(
    aggregate: AggregateTypeOrAll = None,
    message: Annotated[
        str | None,
        typer.Argument(metavar="COMMAND", help="A command or event of it.", show_default="all"),
    ] = None,
    json: Json = False,
) -> None:
    """Show aggregates, commands, events, topics and views, as the application declares them.

    One aggregate is shown with all fields: types, bounds, defaults, and which are personal. With
    --json commands and events are JSON Schemas. The verb needs no service and no database.
    """
    settings = settings_of()
    if aggregate is None:
        _describe_application(settings, json)
        return
    one = settings.application.aggregate(aggregate)
    facts = _facts(one, settings)
    parts = _parts(one, facts)
    if message is not None:
        kind = _message(one, message)
        facts, parts = kind.model_json_schema(), _message_parts(kind)
    if json:
        show_json(facts)
    else:
        show(*parts)


def _describe_application(settings: Settings, json: bool) -> None:
    application, views = settings.application, _views(settings)
    others = [*_others(settings.topics)]
    if json:
        aggregates = {one.name: _facts(one, settings) for one in application.aggregates}
        also = [{"kind": kind, "name": name, "about": about} for kind, name, about in others]
        about = {"application": application.name, "aggregates": aggregates}
        show_json(about | {"views": views, "also": also})
        return
    every = map(application.aggregate, application.aggregate_types)
    rows = ((one.name, ", ".join(one.command_types), ", ".join(one.event_types)) for one in every)
    show(Text(f"{application.name}\n", "bold"))
    show(table(("aggregate", "commands", "events"), rows), "")
    shown = ((name, ", ".join(one["follows"]), one["about"]) for name, one in views.items())
    show(table(("view", "follows", "about"), shown))
    if others:
        show("", table(("also", "name", "about"), others))
    note("`verdict describe AGGREGATE` shows fields and columns, `verdict sql` every view")


def _message(aggregate: Aggregate[Message], name: str) -> type[Message]:
    known = {**aggregate.command_types, **aggregate.event_types}
    if name not in known:
        raise typer.BadParameter(
            f"{aggregate.name} has no command or event {name!r}: it has {', '.join(known)}"
        )
    return known[name]


def _others(topics: Topics) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and description of what is neither an aggregate nor a projection."""
    application = topics.application
    for policy in application.policies:
        expected = ", ".join(sorted(policy.expected_rejections)) or "none"
        about = f"follows {', '.join(policy.follows)}, expects the rejections: {expected}"
        yield "policy", policy.name, about
    for one in application.notifications:
        about = f"follows {', '.join(one.follows)}, writes to {topics.named(one.topic)}"
        yield "notification", one.name, about
    for inbound in application.inbound:
        about = f"reads {topics.named(inbound.topic)}, sends commands to {inbound.aggregate_type}"
        yield "inbound", inbound.name, about
    for state in application.state_topics:
        yield "state of others", state.state.__name__, f"on {topics.named(state.topic)}"
    for verb in application.verbs:
        yield "verb", verb.name, verb.summary


def _parts(aggregate: Aggregate[Message], facts: Fields) -> Iterator[Table | Text | str]:
    yield Text(f"aggregate {aggregate.name}", "bold")
    yield f"topics: {', '.join(facts['topics'])}"
    for kind in (*aggregate.command_types.values(), *aggregate.event_types.values()):
        yield ""
        yield from _message_parts(kind)
    for name, view in facts["views"].items():
        yield ""
        yield Text.assemble(("view ", "dim"), (name, "bold"), f"  {view['about']}")
        yield table(ViewColumn._fields, ([*one.values()] for one in view["columns"]))


def _message_parts(kind: type[Message]) -> Iterator[Table | Text]:
    """Yield a command or an event, and its fields."""
    what, about = "event ", (kind.__doc__ or "").partition("\n")[0]
    starts = ""
    if issubclass(kind, Command):
        what = "command "
        starts = "to " + " or ".join(STARTS[one] for one in STARTS if one in kind.starts_from)
    texts = (f"  {one}" for one in (starts, about) if one)
    yield Text.assemble((what, "dim"), (kind.__name__, "bold"), *texts)
    if fields := [*fields_of(kind)]:
        yield table(("field", "type", "bounds", "default", "about"), fields)


def fields_of(kind: type[Message]) -> Iterator[tuple[str, ...]]:
    """Yield name, type, bounds, default and description of each field of a message."""
    schema = kind.model_json_schema()
    personal = {path[0] for path in personal_paths(kind)}
    for name, one in schema.get("properties", {}).items():
        default = "required" if name in schema.get("required", ()) else one.get("default")
        bounds = (f"{bound} {one[bound]}" for bound in BOUNDS if one.get(bound) not in OF_ALL)
        about = (one.get("description"), "personal" if name in personal else None)
        default = "none" if default is None else str(default)
        yield name, type_of(one), ", ".join(bounds), default, "; ".join(filter(None, about))


def type_of(schema: Mapping[str, Any]) -> str:
    """Return which values a JSON Schema allows."""
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


def _views(settings: Settings, followed: str | None = None) -> dict[str, Fields]:
    """Return the views of the application, or of the projections that follow one topic."""
    engine = {one.name for one in of_every_application(settings.application)}
    found = {}
    for projection in projections(settings.application, settings.chosen):
        topics = projection.topics(settings.topics)
        if projection.name in engine or followed not in (None, *topics):
            continue
        for name, view in projection.views.items():
            if name != f"{projection.name}_version":  # each has one, and they are alike
                columns = [column._asdict() for column in columns_of(view)]
                found[name] = {"about": about_view(view), "follows": topics, "columns": columns}
    return found


def _facts(aggregate: Aggregate[Message], settings: Settings) -> Fields:
    commands, events = aggregate.command_types, aggregate.event_types
    topic = settings.topics.events(aggregate.name)
    return {
        "topics": settings.topics.siblings(topic),
        "commands": {name: kind.model_json_schema() for name, kind in commands.items()},
        "events": {name: kind.model_json_schema() for name, kind in events.items()},
        "views": _views(settings, topic),
    }
