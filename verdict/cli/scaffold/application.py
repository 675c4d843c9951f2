"""A new application with its folders, and a new aggregate: it is opened, renamed and closed."""

from pathlib import Path

from verdict.cli.scaffold.files import (
    ScaffoldPart,
    Target,
    class_name,
    imports,
    render,
    require_free_module,
    require_valid_name,
    words_of,
    write,
)

FOLDERS = {
    "": "An application on verdict.",
    "schemas": "What happened: events, and their Avro files.",
    "commands": "What may be sent.",
    "aggregates": "The rules.",
    "projections": "What readers see.",
    "compose": "The application, put together.",
    "tests": "What it does, as tests.",
}


def application(name: str, first: str) -> list[Path]:
    """Write an application into the working directory; return its files.

    Raises:
        InvalidNameError: It or its aggregate cannot have this name.
        FileExistsAlreadyError: One of its files exists already.
    """
    require_valid_name("application", name)
    require_free_module(name)
    target = Target(Path.cwd(), f"{name}.compose.application", "app")
    part = aggregate(target, first)
    imported, _ = part.lines
    package = target.folder / name
    texts = {
        package / folder / "__init__.py": f'"""{about}"""\n' for folder, about in FOLDERS.items()
    }
    texts |= {
        target.folder / "verdict.toml": render("verdict.toml", name=name),
        target.file: render("application.py", name=name, aggregate=first, imported=imported),
        **part.files,
    }
    if not (unversioned := target.folder / ".gitignore").exists():
        texts[unversioned] = render("gitignore")
    write(texts)
    return [*texts]


def aggregate(target: Target, name: str) -> ScaffoldPart:
    """Return a new aggregate with its events, commands, rules and tests.

    Raises:
        InvalidNameError: It cannot have this name.
    """
    require_valid_name("aggregate", name)
    kind = class_name(name)
    events = [f"{kind}Opened", f"{kind}Renamed", f"{kind}Closed"]
    commands = [f"Open{kind}", f"Rename{kind}", f"Close{kind}"]
    schemas_at, commands_at = f"{target.package}schemas.{name}", f"{target.package}commands.{name}"
    rules_at, tests_at = f"{target.package}aggregates.{name}", f"{target.package}tests.test_{name}"
    messages = [*((commands_at, one) for one in commands), *((schemas_at, one) for one in events)]
    unions = [(commands_at, f"{kind}Command"), (schemas_at, f"{kind}Event")]
    tested = imports([*messages, (target.module, target.value)])
    pieces = {"name": name, "Class": kind, "words": words_of(name)}
    event_types, command_types = " | ".join(events), " | ".join(commands)
    texts = {
        schemas_at: render("schemas.py", union=event_types, **pieces),
        commands_at: render("commands.py", union=command_types, **pieces),
        rules_at: render("aggregate.py", imports=imports([*messages, *unions]), **pieces),
        tests_at: render("test_aggregate.py", imports=tested, value=target.value, **pieces),
    }
    files = {target.path(module): text for module, text in texts.items()}
    return ScaffoldPart(name, rules_at, "aggregates", files)
