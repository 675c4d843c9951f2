"""`verdict new`: the files of an application, an aggregate or a read model, ready to be changed."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from verdict.cli.scaffold.part import ScaffoldPart
    from verdict.cli.scaffold.place import Target

app = typer.Typer(add_completion=False)

Name = Annotated[str, typer.Argument(metavar="NAME", help="In lower case, such as gift_card.")]


@app.callback()
def new() -> None:
    """Write files to begin with, and tests that pass; no file is ever written over."""


@app.command()
def application(
    name: Name,
    aggregate: Annotated[str, typer.Option(metavar="NAME", help="Its first aggregate.")] = "item",
) -> None:
    """Write an application into this folder: a package with one aggregate, and verdict.toml.

    The package has the folders that every application on verdict has: schemas, commands,
    aggregates, projections, compose, and tests.
    """
    from verdict.cli.scaffold.application import application as write

    _tell(write(name, aggregate))
    _say("next: `verdict schemas write`, `python -m pytest`, `verdict up`")


@app.command()
def aggregate(name: Name) -> None:
    """Write an aggregate: something with a title that is opened, renamed and closed.

    Its events, commands, rules and tests. It prints the two lines that add it to the application.
    """
    from verdict.cli.scaffold.aggregate import aggregate as part_of

    place = _place()
    _add(part_of(place, name), place)
    _say("then: `verdict schemas write`, `python -m pytest`")


@app.command("read-model")
def read_model(
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
    """Write a read model: a row for each aggregate, and a view; with tests.

    It counts events and names the last one, until you write what readers ask. It prints the two
    lines that add it to the application.
    """
    from verdict.cli.application import load
    from verdict.cli.scaffold.projection import read_model as part_of

    application = load()  # what is wrong with it is said before anything else
    place = _place()
    _add(part_of(application, place, name, of), place)
    _say("then: `python -m pytest`")


def _place() -> "Target":
    from verdict.cli.application import application_path
    from verdict.cli.scaffold.place import target_of

    return target_of(application_path())


def _add(part: "ScaffoldPart", place: "Target") -> None:
    from verdict.cli.scaffold.files import write

    write(part.files)
    _tell(part.files)
    imported, listed = part.lines
    _say(f"add to {place.file.relative_to(place.folder)}:\n    {imported}\n    {listed}")


def _tell(files: Iterable[Path]) -> None:
    for file in sorted(files):
        _say(f"wrote {file.relative_to(Path.cwd())}")


def _say(text: str) -> None:
    from verdict.cli.render import note

    note(text)
