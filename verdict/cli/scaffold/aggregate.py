"""A new aggregate: something with a title that is opened, renamed and closed."""

from verdict.cli.scaffold.files import render
from verdict.cli.scaffold.names import class_name, require_valid_name, words_of
from verdict.cli.scaffold.part import ScaffoldPart
from verdict.cli.scaffold.place import Target
from verdict.cli.scaffold.source import imports, union


def aggregate(place: Target, name: str) -> ScaffoldPart:
    """Return a new aggregate with its events, commands, rules and tests.

    Raises:
        InvalidNameError: It cannot be called so.
    """
    require_valid_name("aggregate", name)
    kind = class_name(name)
    events = [f"{kind}Opened", f"{kind}Renamed", f"{kind}Closed"]
    commands = [f"Open{kind}", f"Rename{kind}", f"Close{kind}"]
    schemas_at, commands_at = f"{place.package}schemas.{name}", f"{place.package}commands.{name}"
    rules_at, tests_at = f"{place.package}aggregates.{name}", f"{place.package}tests.test_{name}"
    messages = [*((commands_at, one) for one in commands), *((schemas_at, one) for one in events)]
    unions = [(commands_at, f"{kind}Command"), (schemas_at, f"{kind}Event")]
    tested = imports([*messages, (place.module, place.value)])
    pieces = {"name": name, "Class": kind, "words": words_of(name)}
    texts = {
        schemas_at: render("schemas.py", union=union(f"{kind}Event", events), **pieces),
        commands_at: render("commands.py", union=union(f"{kind}Command", commands), **pieces),
        rules_at: render("aggregate.py", imports=imports([*messages, *unions]), **pieces),
        tests_at: render("test_aggregate.py", imports=tested, value=place.value, **pieces),
    }
    files = {place.path(module): text for module, text in texts.items()}
    return ScaffoldPart(name, rules_at, "aggregates", files)
