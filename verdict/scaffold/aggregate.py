"""A new aggregate: something with a title that is opened, renamed and closed."""

from verdict.scaffold.files import rendered
from verdict.scaffold.names import class_name, in_words, see_that_it_can_be
from verdict.scaffold.part import Part
from verdict.scaffold.place import Place
from verdict.scaffold.source import imports, union


def aggregate(place: Place, name: str) -> Part:
    """Return a new aggregate with its events, commands, rules and tests.

    Raises:
        NameRefused: It cannot be called so.
    """
    see_that_it_can_be("aggregate", name)
    kind = class_name(name)
    events = [f"{kind}Opened", f"{kind}Renamed", f"{kind}Closed"]
    commands = [f"Open{kind}", f"Rename{kind}", f"Close{kind}"]
    schemas_at, commands_at = f"{place.package}schemas.{name}", f"{place.package}commands.{name}"
    rules_at, tests_at = f"{place.package}aggregates.{name}", f"{place.package}tests.test_{name}"
    messages = [*((commands_at, one) for one in commands), *((schemas_at, one) for one in events)]
    unions = [(commands_at, f"{kind}Command"), (schemas_at, f"{kind}Event")]
    tested = imports([*messages, (place.module, place.value)])
    pieces = {"name": name, "Class": kind, "words": in_words(name)}
    texts = {
        schemas_at: rendered("schemas.py", union=union(f"{kind}Event", events), **pieces),
        commands_at: rendered("commands.py", union=union(f"{kind}Command", commands), **pieces),
        rules_at: rendered("aggregate.py", imports=imports([*messages, *unions]), **pieces),
        tests_at: rendered("test_aggregate.py", imports=tested, value=place.value, **pieces),
    }
    files = {place.path(module): text for module, text in texts.items()}
    return Part(name, rules_at, "aggregates", files)
