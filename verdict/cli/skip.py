"""`verdict skip`: an operator's recorded decision to leave out records beyond repair."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from verdict.cli.operator_identity import Who, Why, operator_identity
from verdict.cli.options import Json, settings_of
from verdict.cli.recover import recover_alone, skip_request
from verdict.cli.render import note, show_json
from verdict.model.source import Source
from verdict.operations.repair.blocking_records import range_of
from verdict.operations.repair.operator_identity import OperatorIdentity
from verdict.operations.repair.read_side import repair
from verdict.settings.settings import Settings

app = typer.Typer(add_completion=False)

Range = tuple[Source, int | None]
Ranges = Annotated[
    list[str],
    typer.Argument(
        metavar="TOPIC:PARTITION:OFFSET[-UNTIL]...",
        help="The record to skip, or all from OFFSET up to UNTIL, which itself is not skipped.",
    ),
]


@app.command()
def skip(records: Ranges, reason: Why, by: Who = None, json: Json = False) -> None:
    """Skip records that cannot be used, for all that reads their topics, on record.

    A record at which a projection stopped is skipped while the service runs. The view
    `projection_stopped` names it. Where Kafka dropped records that a projection needs, they are
    skipped up to the first that Kafka has.

    Any other record is skipped by a recovery of the decider's state: stop the service first. A
    skipped command becomes a dead letter, and earlier commands that were undecided are sent again.
    A skipped event quarantines its aggregate. The view `skipped_record` has each skip.
    """
    ranges, settings = [*map(_range, records)], settings_of()
    others = _skip_where_stopped(settings, ranges, operator_identity(by, reason))
    if not others:
        return
    wish = replace(skip_request(by, reason), places=[*map(_stretch, others)])
    recovered = recover_alone(settings, None, wish=wish)
    if json:
        show_json(recovered.facts())
    note(f"skipped, and recovered {recovered}; start the service again with `verdict up`")


def _skip_where_stopped(
    settings: Settings, ranges: Sequence[Range], by: OperatorIdentity
) -> list[Range]:
    """Skip the records at which a projection stopped; return the other ranges."""
    commands = {*settings.topics.every_commands()}  # no projection reads them
    if all(place.topic in commands for place, _ in ranges):
        return [*ranges]
    with repair(settings) as on:
        stopped = {one["id"] for one in on.records.listed()}
        for place, until in ranges:
            if str(place) in stopped:
                note(on.records.skip(place, until, by))
    return [one for one in ranges if str(one[0]) not in stopped]


def _range(text: str) -> Range:
    found = range_of(text)
    if found is None or (found[1] is not None and found[1] <= found[0].offset):
        raise typer.BadParameter(
            f"{text!r} is no range of records: write it such as order.commands:2:17, or "
            "order.commands:2:17-20 for the offsets 17, 18 and 19"
        )
    return found


def _stretch(found: Range) -> tuple[Source, int]:
    place, until = found
    return place, place.offset + 1 if until is None else until
