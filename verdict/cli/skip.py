"""`verdict skip`: an operator's recorded decision to leave out records beyond repair."""

from typing import Annotated

import typer

from verdict.cli.operator_identity import Who, Why, operator_identity
from verdict.cli.options import settings_of
from verdict.cli.render import note
from verdict.operations.repair.blocking_records import range_of
from verdict.operations.repair.read_side import repair

app = typer.Typer(add_completion=False)

Range = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC:PARTITION:OFFSET[-UNTIL]",
        help="The record that stops a projection; all up to UNTIL, which is not skipped.",
    ),
]


@app.command()
def skip(records: Range, why: Why, by: Who = None) -> None:
    """Skip a record at which a projection stopped, for all that reads its topic, on record.

    The view `projection_stopped` names the records. Where Kafka dropped records that a projection
    needs, they are skipped up to the first that Kafka has. The view `skipped_record` has each skip.
    """
    found = range_of(records)
    if found is None:
        raise typer.BadParameter(f"{records!r} is no range: write it such as order.events:0:17")
    with repair(settings_of()) as on:
        note(on.records.skip(*found, operator_identity(by, why)))
