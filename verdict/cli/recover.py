"""`verdict recover`: the decider's state, rebuilt from Kafka; the service must be stopped."""

from contextlib import ExitStack
from typing import Annotated

import typer

from verdict.cli.deciding_person import Who, WhyIfAny, decided_by
from verdict.cli.options import Json, settings_of
from verdict.cli.output import note, show_json
from verdict.cli.progress import progress
from verdict.configuration.settings import Settings
from verdict.decider.recovery.progress import Recovered
from verdict.decider.recovery.recovering import OnRecoveryStep, recover, unobserved
from verdict.event_log.passing import NO_WISH, Wish
from verdict.foundation.foundation import lay_foundation
from verdict.projection.applier import wall_clock
from verdict.unhandled.records import place_of

app = typer.Typer()

Shards = Annotated[
    int | None,
    typer.Option(min=1, help="How many states there will be.", show_default="as many as now"),
]
Skip = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC:PARTITION:OFFSET", help="Pass over this record; may be given several times."
    ),
]
AcceptLost = Annotated[
    bool, typer.Option("--accept-lost", help="Go on without commands that Kafka has dropped.")
]


@app.command("recover")
def recover_command(
    shards: Shards = None,
    skip: Skip = None,
    accept_lost: AcceptLost = False,
    why: WhyIfAny = None,
    by: Who = None,
    json: Json = False,
) -> None:
    """Rebuild the decider's state from the events and responses in Kafka.

    For a checkpoint that was lost, damaged or restored, and to change the number of shards. The
    next `verdict up` goes on where the decider had published; versions continue, and command ids
    are remembered. Interrupted, it can be run again.

    What is beyond repair is passed over when you say so, and why; that is kept for ever, on the
    topic of decisions and in the view `decision`, and counts for all later runs. A command that is
    skipped gets its dead letter, and those before it that were undecided are sent again.
    """
    settings = settings_of()
    wish = _wish(skip or [], accept_lost, why, by)
    recovered = recover_alone(settings, shards, wish=wish)
    if json:
        show_json(recovered.facts())
    note(f"recovered {recovered}; start the service again with `verdict up`")


def _wish(skip: list[str], accept_lost: bool, why: str | None, by: str | None) -> Wish:
    if not (skip or accept_lost):
        return NO_WISH
    if why is None:
        raise typer.BadParameter("say why", param_hint="--why")
    person = decided_by(by, why)
    places = []
    for text in skip:
        if (place := place_of(text)) is None:
            raise typer.BadParameter(
                f"{text!r} is no place, such as order.commands:2:17", param_hint="--skip"
            )
        places.append(place)
    return Wish(places=places, accept_lost=accept_lost, who=person.who, why=why, at=wall_clock())


def recover_alone(
    settings: Settings,
    shards: int | None,
    on_step: OnRecoveryStep = unobserved,
    wish: Wish = NO_WISH,
) -> Recovered:
    """Start what a recovery needs, recover with progress on stderr, and stop all of it.

    Raises:
        VerdictError: Something is missing or does not fit.
    """
    with ExitStack() as parts:
        tell = parts.enter_context(progress("starting Kafka and Spark"))
        ground = lay_foundation(settings, parts)
        return recover(ground, settings, shards, tell, on_step, wish)
