"""`verdict new`: the files of an application, an aggregate or a projection, for users to change."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from verdict.cli.application import application_path, load
from verdict.cli.render import note
from verdict.cli.scaffold.application import aggregate as new_aggregate
from verdict.cli.scaffold.application import application as write_application
from verdict.cli.scaffold.files import ScaffoldPart, Target, target_of, write

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
    _report(write_application(name, aggregate))
    note("next: `verdict schemas write`, `python -m pytest`, `verdict up`")
    note(REPLACED.format(name=aggregate))


@app.command()
def aggregate(name: Name) -> None:
    """Write an aggregate that has a title, and is opened, renamed and closed.

    The files are its events, commands, rules and tests. The verb prints the two lines that you add
    to the application.
    """
    target = target_of(application_path())
    _write(new_aggregate(target, name), target)
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
    from verdict.cli.scaffold.projection import projection as new_projection  # it loads slowly

    application = load()  # an error in it is reported before anything else
    target = target_of(application_path())
    _write(new_projection(application, target, name, of), target)
    note("then: `python -m pytest`")


def _write(part: ScaffoldPart, target: Target) -> None:
    write(part.files)
    _report(part.files)
    imported, listed = part.lines
    note(f"add to {target.file.relative_to(target.folder)}:\n    {imported}\n    {listed}")


def _report(files: Iterable[Path]) -> None:
    for file in sorted(files):
        note(f"wrote {file.relative_to(Path.cwd())}")
