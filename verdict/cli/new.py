"""`verdict new`: the files of an application, an aggregate or a projection, for users to change."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from verdict.cli.scaffold.files import ScaffoldPart, Target

app = typer.Typer(add_completion=False)

REPLACED = (
    "if you replace these messages with your own before the first record is sent: "
    "`verdict schemas write --unpublished {name}_event --unpublished {name}_command`"
)

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
    from verdict.cli.scaffold.application import application as write

    _report(write(name, aggregate))
    _note("next: `verdict schemas write`, `python -m pytest`, `verdict up`")
    _note(REPLACED.format(name=aggregate))


@app.command()
def aggregate(name: Name) -> None:
    """Write an aggregate that has a title, and is opened, renamed and closed.

    The files are its events, commands, rules and tests. The verb prints the two lines that you add
    to the application.
    """
    from verdict.cli.scaffold.application import aggregate as part_of

    target = _target()
    _write(part_of(target, name), target)
    _note("then: `verdict schemas write`, `python -m pytest`")
    _note(REPLACED.format(name=name))


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
    from verdict.cli.application import load
    from verdict.cli.scaffold.projection import projection as part_of

    application = load()  # an error in it is reported before anything else
    target = _target()
    _write(part_of(application, target, name, of), target)
    _note("then: `python -m pytest`")


def _target() -> "Target":
    from verdict.cli.application import application_path
    from verdict.cli.scaffold.files import target_of

    return target_of(application_path())


def _write(part: "ScaffoldPart", target: "Target") -> None:
    from verdict.cli.scaffold.files import write

    write(part.files)
    _report(part.files)
    imported, listed = part.lines
    _note(f"add to {target.file.relative_to(target.folder)}:\n    {imported}\n    {listed}")


def _report(files: Iterable[Path]) -> None:
    for file in sorted(files):
        _note(f"wrote {file.relative_to(Path.cwd())}")


def _note(text: str) -> None:
    from verdict.cli.render import note

    note(text)
