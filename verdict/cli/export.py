"""`verdict export`: a projection at some position, as a file or on a topic."""

from typing import Annotated

import typer

from verdict.cli.options import settings_of
from verdict.cli.render import note, show_progress
from verdict.model.message import A_TIME
from verdict.read_side.as_of.materialiser import Materialiser
from verdict.read_side.as_of.resolving import AsOf, parse_as_of

app = typer.Typer(add_completion=False)

Name = Annotated[str, typer.Argument(help="Of the projection, such as us_holder.")]
AsOfText = Annotated[
    str,
    typer.Option(
        "--as-of",
        metavar="now|TIME|N",
        help="All that Kafka has now; all that was decided up to a time (ISO 8601 with a zone); or "
        "the first N events, by the archive's global position.",
    ),
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FILE|topic:NAME|-",
        help="A file, which is replaced as a whole; an existing topic, in one transaction; or "
        "stdout.",
    ),
]
AcceptBlocked = Annotated[
    bool,
    typer.Option(
        "--accept-blocked",
        help="Write blocked aggregates as they were before the event that blocks them.",
    ),
]


@app.command()
def export(
    projection: Name, as_of: AsOfText, to: To, accept_blocked: AcceptBlocked = False
) -> None:
    """Write a projection as of some position: a JSON record per row, in key order.

    The last record is the completion record: `as_of` (the option and the position that it means),
    `count`, and `checksum`, SHA-256 over the lines before it; with --accept-blocked also `blocked`,
    if aggregates are. The same time or position always gives the same bytes. On a topic the key of
    a record is that of its row, a JSON array for several columns, and the key of the completion
    record is `verdict:materialised`.
    """
    asked = _parsed(as_of)
    settings = settings_of()
    with show_progress(f"{projection} as of {as_of}"):
        done, new = Materialiser(settings, projection, accept_blocked).run(asked, to)
    about = f"{done['count']} rows of {projection} as of {asked.asked}, checksum {done['checksum']}"
    place = "stdout" if to == "-" else to
    note(f"{about}: {'written to' if new else 'nothing written, all of it is on'} {place}")


def _parsed(text: str) -> AsOf:
    try:
        return parse_as_of(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is none of these: now, a global position such as 4711, a time with a zone "
            f"such as {A_TIME}",
            param_hint="--as-of",
        ) from error
