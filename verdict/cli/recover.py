"""`verdict recover`: the decider's state, rebuilt from Kafka; the service must be stopped."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum, auto
from functools import partial
from typing import Annotated

import typer

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import offsets_text
from verdict.adapters.sql.time_text import wall_clock
from verdict.cli.operator_identity import Who, WhyIfAny, operator_identity
from verdict.cli.options import Json, settings_of
from verdict.cli.progress import show_progress
from verdict.cli.render import note, show_json
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.operations.repair.blocking_records import range_of
from verdict.operations.repair.recreated_topics import recreate_topics
from verdict.operations.repair.reset_progress import begin_as_owner, begin_without_progress
from verdict.operations.repair.restored_events import restore_events
from verdict.reactions.policies.query import reactions_of, reactions_query
from verdict.service.bootstrap import leave, start_kafka_runtime, start_runtime
from verdict.service.directories import require_whole_directory
from verdict.service.known_progress import require_same_log
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skips import NO_WISH, SkipRequest
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.streaming.exactly_once.query import lake_query
from verdict.wire.progress_record import ProgressRecord
from verdict.write_side.recovery.progress import RecoveredState
from verdict.write_side.recovery.recovering import OnRecoveryStep, recover

app = typer.Typer()


Shards = Annotated[
    int | None,
    typer.Option(min=1, help="How many states there will be.", show_default="as many as now"),
]
Skip = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC:PARTITION:OFFSET[-UNTIL]",
        help="Skip this record, or all from OFFSET up to UNTIL, which itself is not skipped; may "
        "be given several times.",
    ),
]
Quarantine = Annotated[
    bool, typer.Option("--quarantine", help="Go on without aggregates with a damaged history.")
]


class ResetTarget(StrEnum):
    """Who begins without a progress record: the reactions at the ends, the lake at the first records.

    The owner is the deployment, of its topics.
    """

    REACTIONS = auto()
    LAKE = auto()
    OWNER = auto()


RestoreEvents = Annotated[
    bool,
    typer.Option("--restore-events", help="Append archived events again that Kafka has lost."),
]
Begin = Annotated[
    ResetTarget | None,
    typer.Option(help="Let one whose progress record is lost begin anew instead; the state stays."),
]


@app.command("recover")
def recover_command(  # noqa: PLR0913  (each an option of the command line)
    shards: Shards = None,
    skip: Skip = None,
    quarantine: Quarantine = False,
    begin: Begin = None,
    restore: RestoreEvents = False,
    why: WhyIfAny = None,
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

    With --skip it leaves out records that are beyond repair. A skipped command becomes a dead
    letter, and those before it that were undecided are sent again. A skipped event quarantines its
    aggregate. What you decide is kept on the skips topic and in the views `skipped_record`
    and `aggregate_quarantined`, and counts for all later runs.

    Reactions or a lake without their progress record do not know how far they came. Told to begin anew, the
    reactions do so at the ends of their topics: what had no consequence yet gets none. The lake
    does so at the first events that Kafka holds; remove its folder before. `owner` writes down
    anew that the topics are this deployment's, where that cannot be read any more.

    A Kafka that does not flush may lose the end of its topics in a power failure. With
    `--restore-events` the events that the archive has are first appended to their topics again,
    with the same bytes, and all positions are corrected; that is on record. A rejection that is
    lost stays lost.

    A topic of commands, dead letters, rejections, retries or notifications that was deleted is
    created again, on record; what only it held is lost. A deleted topic of events or responses is
    refused: restore it from a backup.
    """
    settings = settings_of()
    recovers = bool(skip or quarantine or shards or restore)
    if begin is not None:
        _begun(settings, begin, _alone(recovers, why, by, "--begin"), json=json)
        return
    wish = _wish(skip or [], quarantine, why, by)
    if restore and why is None:
        raise typer.BadParameter("say why", param_hint="--reason")
    mend = partial(_mend, by=_by(by, why or "needed by `verdict recover`"), restore=restore)
    recovered = recover_alone(settings, shards, wish=wish, mend=mend)
    if json:
        show_json(recovered.facts())
    note(f"recovered {recovered}; start the service again with `verdict up`")


def _alone(others: bool, why: str | None, by: str | None, option: str) -> SkipRequest:
    """Return the wish of an option that needs a reason and no other option beside it."""
    if why is None or others:
        alone = (
            "it needs --reason, and goes with no other of --skip, --quarantine, --shards, --begin"
        )
        raise typer.BadParameter(alone, param_hint=option)
    return _by(by, why)


def _begun(settings: Settings, begin: ResetTarget, wish: SkipRequest, *, json: bool) -> None:
    if begin is ResetTarget.OWNER:
        own_alone(settings, wish)
        note("the topics are this deployment's; start the service with `verdict up`")
        return
    begun = begin_alone(settings, begin, wish)
    if json:
        show_json({"begun": begin, "offsets": begun.offsets})
    note(
        f"{begin} will begin at {offsets_text(begun.offsets)}; start the service with `verdict up`"
    )


def _wish(skip: list[str], quarantine: bool, why: str | None, by: str | None) -> SkipRequest:
    if not (skip or quarantine):
        return NO_WISH
    if why is None:
        raise typer.BadParameter("say why", param_hint="--reason")
    return replace(_by(by, why), places=[*map(_stretch, skip)], quarantine=quarantine)


def _stretch(text: str) -> tuple[Source, int]:
    """Return the first record to skip, and the offset after the last one."""
    place, until = range_of(text) or (None, None)
    if place is None or (until is not None and until <= place.offset):
        raise typer.BadParameter(
            f"{text!r} is no place, such as order.commands:2:17, or order.commands:2:17-20 for the "
            "offsets 17, 18 and 19",
            param_hint="--skip",
        )
    return place, place.offset + 1 if until is None else until


def _by(by: str | None, why: str) -> SkipRequest:
    """Return the wish of a person, for nothing yet."""
    person = operator_identity(by, why)
    return SkipRequest(who=person.who, why=person.why or "", at=wall_clock())


def _mend(settings: Settings, kafka: KafkaConfig, by: SkipRequest, restore: bool) -> None:
    """Bring back what the log lacks, before it is compared with what is known of it."""
    for name in recreate_topics(settings, kafka, by):
        note(f"{name} was deleted and is created again; what only it held is lost")
    if restore:
        note(str(restore_events(settings, kafka, by)))


def own_alone(settings: Settings, wish: SkipRequest) -> None:
    """Write down that the topics are this deployment's.

    Raises:
        VerdictError: They are another's, one is gone, or something does not fit.
    """
    with ExitStack() as parts:
        place = require_whole_directory(settings.data_dir, (ResetTarget.OWNER,))
        ground = start_kafka_runtime(settings, parts, place, owned=False)
        require_same_log(settings, ground.kafka)  # else the next start would be refused
        begin_as_owner(ground.kafka, settings.topics, wish)


def begin_alone(settings: Settings, who: ResetTarget, wish: SkipRequest) -> ProgressRecord:
    """Write the progress record of one that has lost it; no Spark is needed for that.

    Raises:
        VerdictError: Something is missing or does not fit.
    """
    if who is ResetTarget.LAKE and settings.application.lake is None:
        raise VerdictError(f"{settings.application.name} has no lake: there is nothing to begin")
    reactions = reactions_query(reactions_of(settings))
    query = lake_query(settings.topics) if who is ResetTarget.LAKE else reactions
    with ExitStack() as parts:
        ground = start_kafka_runtime(
            settings, parts, require_whole_directory(settings.data_dir, (who,))
        )
        topics, at_the_ends = settings.topics, who is ResetTarget.REACTIONS
        return begin_without_progress(query, ground.kafka, topics, wish, at_the_ends=at_the_ends)


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
