"""`verdict letters`: what could not be handled and waits for a person, of whatever kind it is."""

from typing import Annotated, Any

import typer

from verdict.cli.deciding_person import Who, Why, WhyIfAny, decided_by
from verdict.cli.options import Json, settings_at_any_rate, settings_of
from verdict.cli.output import add_rows, note, show, show_json, table
from verdict.unhandled.kinds import kind_of, kinds
from verdict.wire.json_lines import json_line

app = typer.Typer(add_completion=False)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="As `list` prints it, such as us_holder/position/p-7.")
]
AllBehind = Annotated[
    bool,
    typer.Option(
        "--all", help="Give up what waits behind it in its aggregate, or is as unreadable, too."
    ),
]
Document = Annotated[
    typer.FileBinaryRead,
    typer.Option("--file", metavar="FILE|-", help="The payload as JSON, as `show` prints it."),
]


@app.callback()
def letters() -> None:
    """What could not be handled and waits: which there is; mend it, try it again, or give it up."""


@app.command("list")
def list_letters(json: Json = False) -> None:
    """List what waits: events that cannot be applied or never came, records, letters."""
    with settings_at_any_rate() as (settings, _), kinds(settings) as every:
        found = [item for kind in every for item in kind.listed()]
    if json:
        for item in found:
            show_json(item)
        return
    columns = ("id", "since", "behind", "error")
    if not found:
        note("nothing waits")
        return
    rows = ([item[column] for column in columns] for item in found)
    made = table(*columns, numbers=("behind",))
    made.columns[0].no_wrap = True  # for people who copy it
    show(add_rows(made, rows))


@app.command("show")
def show_letter(id: Id, json: Json = False) -> None:
    """Show one: its payload, where it lies, why it waits, and what was done about it."""
    with kind_of(id, settings_of()) as kind:
        facts = kind.shown(id)
    if json:
        show_json(facts)
        return
    show(add_rows(table("", ""), ([name, _told(value)] for name, value in facts.items())))


@app.command()
def edit(
    id: Id,
    file: Document,
    why: Why,
    by: Who = None,
) -> None:
    """Put another payload in the place of one, for the next try; the log is not changed.

    Of an event it holds for that projection only, also when it is built again. A payload that the
    event's class refuses is refused here. Of a letter the file is the whole value.
    """
    with kind_of(id, settings_of()) as kind:
        note(kind.edit(id, file.read(), decided_by(by, why)))


@app.command()
def replay(
    id: Id,
    by: Who = None,
    why: WhyIfAny = None,
) -> None:
    """Try one again now, and what waits behind it; exit code 1 when it fails again.

    A letter is sent by the running service.
    """
    with kind_of(id, settings_of()) as kind:
        note(kind.replay(id, decided_by(by, why)))


@app.command()
def evict(
    id: Id,
    why: Why,
    all_behind: AllBehind = False,
    by: Who = None,
) -> None:
    """Give one up; what waits behind it goes on.

    An event is passed over in that projection only, also when it is built again; so are versions
    that never came. A record that nobody can read is passed over by all. A letter stays on
    `dead-letters`.
    """
    with kind_of(id, settings_of()) as kind:
        note(kind.evict(id, decided_by(by, why), all_behind))


@app.command()
def accept(
    id: Id,
    why: Why,
    by: Who = None,
) -> None:
    """Let `materialise` go on while an aggregate waits: as it was before that event.

    It waits on, and what it waits for can still come, be mended or be given up.
    """
    with kind_of(id, settings_of()) as kind:
        note(kind.accept(id, decided_by(by, why)))


def _told(value: Any) -> Any:
    return json_line(value).decode() if isinstance(value, dict | list) else value
