"""`verdict recover`: the decider's state, rebuilt from Kafka; the service must be stopped."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.sql.time_text import wall_clock
from verdict.cli.operator_identity import Who, WhyIfAny, operator_identity
from verdict.cli.options import Json, settings_of
from verdict.cli.progress import show_progress
from verdict.cli.render import note, show_json
from verdict.operations.repair.recreated_topics import recreate_topics
from verdict.operations.repair.restored_events import restore_events
from verdict.service.bootstrap import leave, start_runtime
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skips import NO_WISH, SkipRequest
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.write_side.recovery.recovering import OnRecoveryStep, RecoveredState, recover

app = typer.Typer()


Shards = Annotated[
    int | None,
    typer.Option(min=1, help="How many states there will be.", show_default="as many as now"),
]
Quarantine = Annotated[
    bool, typer.Option("--quarantine", help="Go on without aggregates with a damaged history.")
]


RestoreEvents = Annotated[
    bool,
    typer.Option("--restore-events", help="Append archived events again that Kafka has lost."),
]


@app.command("recover")
def recover_command(
    shards: Shards = None,
    quarantine: Quarantine = False,
    restore: RestoreEvents = False,
    reason: WhyIfAny = None,
    by: Who = None,
    json: Json = False,
) -> None:
    """Rebuild the decider's state from the events and responses in Kafka.

    Events that Kafka has dropped are taken from the archive, which the read side keeps. For a
    checkpoint that was lost, damaged or restored, and to change the number of shards. The
    next `verdict up` goes on where the decider had published; versions continue, and command ids
    are remembered. Interrupted, it can be run again.

    It stops when the history of an aggregate is damaged: a version is missing or has two events,
    the chain of hashes is broken, or an event cannot be folded. With --quarantine it goes on
    without these aggregates: their commands are rejected as QUARANTINED, and projections keep their
    rows. When the events are back, the next recovery lifts the quarantine by itself.

    A record that belongs to no history stops it, too: `verdict skip` leaves it out.

    A Kafka that does not flush may lose the end of its topics in a power failure. With
    `--restore-events` the events that the archive has are first appended to their topics again,
    with the same bytes, and all positions are corrected; that is on record. A rejection that is
    lost stays lost.

    A topic of commands, dead letters, rejections, retries or notifications that was deleted is
    created again, on record; what only it held is lost. A deleted topic of events or responses is
    refused: restore it from a backup.
    """
    settings = settings_of()
    if (quarantine or restore) and reason is None:
        raise typer.BadParameter("give the reason", param_hint="--reason")
    asked = skip_request(by, reason or "needed by `verdict recover`")
    wish = replace(asked, quarantine=True) if quarantine else NO_WISH
    mend = partial(_mend, by=asked, restore=restore)
    recovered = recover_alone(settings, shards, wish=wish, mend=mend)
    if json:
        show_json(recovered.facts())
    note(f"recovered {recovered}; start the service again with `verdict up`")


def skip_request(by: str | None, reason: str) -> SkipRequest:
    """Return the request of a person, for nothing yet."""
    person = operator_identity(by, reason)
    return SkipRequest(operator=person.operator, reason=person.reason or "", at=wall_clock())


def _mend(settings: Settings, kafka: KafkaConfig, by: SkipRequest, restore: bool) -> None:
    """Bring back what the log lacks, before it is compared with what is known of it."""
    for name in recreate_topics(settings, kafka, by):
        note(f"{name} was deleted and is created again; what only it held is lost")
    if restore:
        note(str(restore_events(settings, kafka, by)))


def recover_alone(
    settings: Settings,
    shards: int | None,
    on_step: OnRecoveryStep = ignore_step,
    wish: SkipRequest = NO_WISH,
    mend: Callable[[Settings, KafkaConfig], None] = leave,
) -> RecoveredState:
    """Start what a recovery needs, recover with progress on stderr, and stop all of it.

    Raises:
        VerdictError: Something is missing or does not fit.
    """
    with ExitStack() as parts:
        tell = parts.enter_context(show_progress("starting Kafka and Spark"))
        ground = start_runtime(settings, parts, mend=mend)
        return recover(ground, settings, shards, tell, on_step, wish)
