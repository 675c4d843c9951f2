"""`verdict recover`, `skip` and `reset-progress`: repairs while the service is stopped."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import offsets_text
from verdict.cli.options import (
    Json,
    Who,
    Why,
    WhyIfAny,
    operator_identity,
    settings_of,
    skip_request,
)
from verdict.cli.render import note, show_json, show_progress
from verdict.errors import VerdictError
from verdict.model.source import Source
from verdict.operations.repair.operator import OperatorIdentity
from verdict.operations.repair.positions import begin_as_owner, begin_without_progress
from verdict.operations.repair.recreated_topics import recreate_topics
from verdict.operations.repair.repair_session import repair
from verdict.operations.repair.restored_events import restore_events
from verdict.operations.repair.stopping_records import range_of
from verdict.reactions.policies.reaction import reactions_of, reactions_query
from verdict.service.bootstrap import (
    require_whole_directory,
    start_kafka_runtime,
    start_runtime,
)
from verdict.service.queries import require_same_log
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skips import NO_WISH, SkipRequest
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.streaming.exactly_once.query import lake_query
from verdict.write_side.recovery.recovery import OnRecoveryStep, RecoveredState, recover

app = typer.Typer()

Range = tuple[Source, int | None]


class ResetTarget(StrEnum):
    """The owner of a lost record: a query, or the deployment, whose record claims its topics."""

    POLICIES = "policies"
    LAKE = "lake"
    OWNER = "owner"


@app.command("recover")
def recover_command(
    shards: Annotated[
        int | None,
        typer.Option(min=1, help="The new number of shards.", show_default="as many as now"),
    ] = None,
    quarantine: Annotated[
        bool,
        typer.Option(
            "--quarantine", help="Continue without aggregates that have a damaged history."
        ),
    ] = False,
    restore: Annotated[
        bool,
        typer.Option("--restore-events", help="Append archived events again that Kafka has lost."),
    ] = False,
    reason: WhyIfAny = None,
    by: Who = None,
    json: Json = False,
) -> None:
    """Rebuild the decider's state from the events and responses in Kafka.

    Use it when a checkpoint was lost, damaged or restored, and to change the number of shards.
    Events that Kafka has dropped come from the archive of the read side. The next `verdict up`
    continues after the last published batch; versions continue, and command ids are remembered.
    After an interruption, run it again.

    It stops when the history of an aggregate is damaged: a version is missing or has two events,
    the chain of hashes is broken, or an event cannot be folded. With --quarantine it continues
    without these aggregates: their commands are rejected as QUARANTINED, and projections keep their
    rows. When the events are back, the next recovery lifts the quarantine.

    A record that belongs to no history stops it, too: `verdict skip` leaves it out.

    In a power failure Kafka may lose the end of its topics, if it does not flush. With
    --restore-events the archived events are first appended to their topics again, with the same
    bytes, and all positions are corrected, on record. A lost rejection is not restored.

    A deleted topic of commands, dead letters, rejections, retries or notifications is created
    again, on record; its records are lost. A deleted topic of events or responses is an error:
    restore it from a backup.
    """
    settings = settings_of()
    if (quarantine or restore) and reason is None:
        raise typer.BadParameter("give the reason", param_hint="--reason")
    asked = skip_request(by, reason or "needed by `verdict recover`")
    wish = replace(asked, quarantine=True) if quarantine else NO_WISH
    fix = partial(_mend, by=asked, restore=restore)
    recovered = recover_alone(settings, shards, wish=wish, fix=fix)
    if json:
        show_json(asdict(recovered))
    note(f"recovered {recovered}; start the service again with `verdict up`")


def _mend(settings: Settings, kafka: KafkaConfig, by: SkipRequest, restore: bool) -> None:
    """Restore what the log lacks, before it is checked."""
    for name in recreate_topics(settings, kafka, by):
        note(f"{name} was deleted and is created again; its records are lost")
    if restore:
        note(str(restore_events(settings, kafka, by)))


def recover_alone(
    settings: Settings,
    shards: int | None,
    on_step: OnRecoveryStep = ignore_step,
    wish: SkipRequest = NO_WISH,
    fix: Callable[[Settings, KafkaConfig], None] = lambda *_: None,
) -> RecoveredState:
    """Start what a recovery needs, recover with progress on stderr, and stop all of it."""
    with ExitStack() as parts:
        report = parts.enter_context(show_progress("starting Kafka and Spark"))
        ground = start_runtime(settings, parts, fix=fix)
        return recover(ground, settings, shards, report, on_step, wish)


@app.command()
def skip(
    records: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC:PARTITION:OFFSET[-UNTIL]",
            help="The record to skip, or all from OFFSET up to UNTIL, which is not skipped.",
        ),
    ],
    reason: Why,
    by: Who = None,
    json: Json = False,
) -> None:
    """Skip records that cannot be used, for all readers of their topics, on record.

    A record at which a projection stopped is skipped while the service runs. The view
    `projection_stopped` names it. If Kafka dropped records that a projection needs, they are
    skipped up to the first one that Kafka has.

    Any other record is skipped by a recovery of the decider's state: stop the service first. A
    skipped command becomes a dead letter, and undecided commands before it are sent again. A
    skipped event quarantines its aggregate. The view `skipped_record` has each skip.
    """
    ranges, settings = [*map(_range, records)], settings_of()
    others = _skip_where_stopped(settings, ranges, operator_identity(by, reason))
    if not others:
        return
    places = [(at, at.offset + 1 if until is None else until) for at, until in others]
    recovered = recover_alone(settings, None, wish=replace(skip_request(by, reason), places=places))
    if json:
        show_json(asdict(recovered))
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


@app.command()
def reset_progress(
    target: Annotated[ResetTarget, typer.Argument(metavar="policies|lake|owner")],
    reason: Why,
    by: Who = None,
    json: Json = False,
) -> None:
    """Write a new record for policies, the lake or the owner of the topics that lost its own.

    Stop the service first. Policies then start at the ends of their topics: an event that had no
    consequence yet gets none. The lake starts at the first events that Kafka has: remove its folder
    first. `owner` claims the topics for this deployment. The state of the decider does not change:
    `verdict recover` rebuilds it.
    """
    settings, wish = settings_of(), skip_request(by, reason)
    owner, lake = target is ResetTarget.OWNER, target is ResetTarget.LAKE
    if lake and settings.application.lake is None:
        raise VerdictError(f"{settings.application.name} has no lake: there is nothing to reset")
    with ExitStack() as parts:
        place = require_whole_directory(settings.data_dir, (target,))
        kafka = start_kafka_runtime(settings, parts, place, owned=not owner).kafka
        if owner:
            require_same_log(settings, kafka)  # else the next start would be refused
            begin_as_owner(kafka, settings.topics, wish)
            note("this deployment owns the topics; start the service with `verdict up`")
            return
        query = lake_query(settings.topics) if lake else reactions_query(reactions_of(settings))
        new = begin_without_progress(query, kafka, settings.topics, wish, at_the_ends=not lake)
    if json:
        show_json({"query": target, "offsets": new.offsets})
    note(f"{target} will start at {offsets_text(new.offsets)}; start the service with `verdict up`")
