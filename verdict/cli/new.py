"""`verdict new`: the files of an application, an aggregate or a projection, for users to change."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from verdict.cli.application import application_path, load
from verdict.cli.render import note
from verdict.cli.scaffold.files import (
    Target,
    class_name,
    render,
    require_free_module,
    require_valid_name,
    target_of,
    words_of,
    write,
)

app = typer.Typer(add_completion=False)

REPLACED = (
    "if you replace these messages with your own before the first record is sent: "
    "`verdict schemas write --unpublished {name}_event --unpublished {name}_command`"
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
TEMPLATES = {  # template → the module of an aggregate that is made of it
    "schemas.py": "schemas.{}",
    "commands.py": "commands.{}",
    "aggregate.py": "aggregates.{}",
    "test_aggregate.py": "tests.test_{}",
}

Name = Annotated[str, typer.Argument(metavar="NAME", help="In lower case, such as gift_card.")]


@app.callback()
def new() -> None:
    """Write files to begin with, and tests that pass; no file is ever replaced."""


@app.command()
def application(
    name: Name,
    aggregate: Annotated[str, typer.Option(metavar="NAME", help="Its first aggregate.")] = "item",
) -> None:
    """Write an application into this folder: a package with one aggregate, and verdict.toml.

    The package has the folders of every application on verdict: schemas, commands,
    aggregates, projections, compose, and tests.
    """
    require_valid_name("application", name)
    require_free_module(name)
    target = Target(Path.cwd(), f"{name}.compose.application", "app")
    package, imported = target.folder / name, target.import_of("aggregates", aggregate)
    texts = new_aggregate(target, aggregate)
    for folder, about in FOLDERS.items():
        texts[package / folder / "__init__.py"] = f'"""{about}"""\n'
    texts[target.folder / "verdict.toml"] = render("verdict.toml", name=name)
    texts[target.file] = render("application.py", name=name, aggregate=aggregate, imported=imported)
    if not (unversioned := target.folder / ".gitignore").exists():
        texts[unversioned] = render("gitignore")
    write(texts)
    _report(texts)
    note("next: `verdict schemas write`, `python -m pytest`, `verdict up`")
    note(REPLACED.format(name=aggregate))


@app.command()
def aggregate(name: Name) -> None:
    """Write an aggregate that has a title, and is opened, renamed and closed.

    The files are its events, commands, rules and tests. The verb prints the two lines that you add
    to the application.
    """
    target = target_of(application_path())
    _write(target, "aggregates", name, new_aggregate(target, name))
    note("then: `verdict schemas write`, `python -m pytest`")
    note(REPLACED.format(name=name))


@app.command()
def projection(
    name: Name,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="AGGREGATE",
            help="Whose events it follows.",
            show_default="the only one that there is",
        ),
    ] = None,
) -> None:
    """Write a projection with tests: a view with a row for each aggregate.

    It counts events and names the last one, until you write what readers need. The verb prints the
    two lines that you add to the application.
    """
    from verdict.cli.scaffold.projection import new_projection  # it loads slowly

    application = load()  # an error in it is reported before anything else
    target = target_of(application_path())
    _write(target, "projections", name, new_projection(application, target, name, of))
    note("then: `python -m pytest`")


def new_aggregate(target: Target, name: str) -> dict[Path, str]:
    """Return the files of a new aggregate: its events, commands, rules and tests."""
    require_valid_name("aggregate", name)
    pieces = {"name": name, "Class": class_name(name), "words": words_of(name)}
    pieces |= {"package": target.package, "module": target.module, "value": target.value}
    return {
        target.path(target.package + module.format(name)): render(template, **pieces)
        for template, module in TEMPLATES.items()
    }


def _write(target: Target, folder: str, name: str, files: Mapping[Path, str]) -> None:
    write(files)
    _report(files)
    note(
        f"add to {target.file.relative_to(target.folder)}:\n"
        f"    {target.import_of(folder, name)}\n    {folder}=(…, {name}),"
    )


def _report(files: Iterable[Path]) -> None:
    for file in sorted(files):
        note(f"wrote {file.relative_to(Path.cwd())}")
