"""What needs attention, in words for people, and whether commands are decided in spite of it."""

import time
from collections.abc import Iterable, Iterator

from verdict.adapters.kafka.monitor import local_time
from verdict.operations.status.status import (
    KAFKA,
    BlockedAggregateStatus,
    DeadLettersStatus,
    PolicyRejections,
    Problem,
    ProjectionStatus,
    QuarantinedAggregates,
    ScatteredKeys,
    StatusReport,
)
from verdict.service.directories import DECIDER
from verdict.settings.discovery import AnnouncedService

NOTHING_RUNS = "no verdict runs on"
SILENT_S = 60.0  # a service gives a sign of life every few seconds, but a start may be busy
STILL_S = 30.0  # without progress while something waits


def not_running(found: StatusReport) -> Iterator[Problem]:
    """Say that nothing runs on the data directory, or that it has not started yet."""
    if found.processes:
        return
    if found.starting is not None:
        yield Problem(
            f"pid {found.starting} is starting on {found.data_dir}, or recovers: commands wait "
            "until it is ready",
            DECIDER,
        )
    else:
        yield Problem(f"{NOTHING_RUNS} {found.data_dir}: start `verdict up`", DECIDER)


def kafka_away(service: AnnouncedService) -> Iterator[Problem]:
    """Say since when the service waits for Kafka, if it does."""
    if (since := service.kafka_away_since) is not None:
        yield Problem(
            f"Kafka is away since {local_time(since)}, for {time.time() - since:.0f} s: what is "
            "sent waits, nothing is lost, and the service goes on when it is back",
            KAFKA,
        )


def killed(service: AnnouncedService) -> Problem:
    """Say that a role that ran alone has ended, and that nobody stopped it."""
    role = " ".join(service.roles)
    return Problem(
        f"the role {role}, pid {service.pid}, has ended without a last word (kill -9, want of "
        f"memory): start `verdict run {role}` again"
    )


def told_by(service: AnnouncedService, silent_s: float) -> Iterator[Problem]:
    """Say what a service has stopped, and what does not end."""
    if silent_s > SILENT_S:
        yield Problem(
            f"the service, pid {service.pid}, has given no sign of life for {silent_s:.0f} s: "
            "something has stopped it (SIGSTOP, a debugger), or it hangs; stop it and start again",
            DECIDER if DECIDER in service.roles or not service.roles else "",
        )
    for name, why in service.stopped.items():
        yield Problem(f"the {name} stopped: {why}", name)
    for query, batch in service.overdue.items():
        yield Problem(
            f"batch {batch.batch_id} of {query} has been under way since "
            f"{local_time(batch.since)}, for {time.time() - batch.since:.0f} s, and has not ended: "
            "see what its Python workers and Spark do",
            query,
        )


def no_progress(name: str, still_s: float, waiting: int | None) -> Iterator[Problem]:
    """Say that a part takes nothing although something waits for it."""
    if still_s >= STILL_S and waiting:
        yield Problem(f"{name}: no progress for {still_s:.0f} s while {waiting:,} wait", name)


def unready(found: StatusReport, problems: Iterable[Problem]) -> Iterator[str]:
    """Yield why commands are not decided now; nothing: they are.

    A stopped projection or a database that is away is no reason: commands are decided without them.
    """
    if found.processes and found.service is None:
        yield f"no decider runs on {found.data_dir}: start `verdict run decider`"
    else:
        yield from (one for one in problems if one.part in (DECIDER, KAFKA))


def problems_of(found: StatusReport) -> Iterator[Problem]:
    """Yield what these facts say is wrong."""
    yield from _ahead(found)
    yield from map(Problem, _kept_waiting(found))
    yield from map(Problem, _of_readers(found))


def _of_readers(found: StatusReport) -> Iterator[str]:
    for one in found.projections or ():
        if one.state == "live":
            yield from _stopped(one)
    if found.quarantines is not None:
        yield from _quarantined(found.quarantines)
    if found.scattered is not None:
        yield from _out_of_order(found.scattered)
    if found.dead_letters is not None:
        yield from _given_up(found.dead_letters)
    for rejections in found.policy_rejections or ():
        yield from _unexpected(rejections)


def _ahead(found: StatusReport) -> Iterator[Problem]:
    """Yield who has read further than Kafka goes."""
    for name, part, lags in _lags(found):
        if (lag := min((one for one in lags if one is not None), default=0)) < 0:
            yield Problem(
                f"{name} has read {-lag} offsets further than Kafka goes: a topic was deleted, or "
                "these are the progress record or the tables of another Kafka; look at "
                "bootstrap_servers "
                "and database_url",
                part,
            )


def _kept_waiting(found: StatusReport) -> Iterator[str]:
    for one in found.open_transactions:
        yield (
            f"a transaction stays open on {one.topic}:{one.partition} at offset {one.offset}: "
            f"nobody reads the {one.end - one.offset} offsets from there on until it is ended, by "
            "its producer or by Kafka (transaction.timeout.ms); its producer is named by "
            f"`kafka-transactions.sh describe-producers --topic {one.topic} "
            f"--partition {one.partition}`"
        )


def _lags(found: StatusReport) -> Iterator[tuple[str, str, Iterable[int | None]]]:
    yield "the decider", DECIDER, (one.lag for one in found.commands or ())
    for processor in found.processors or ():
        yield f"the {processor.processor}", processor.processor, [processor.lag]
    for one in found.projections or ():
        yield _named(one), one.projection, [one.lag]
    if found.dead_letters is not None:
        yield "the intake of dead letters", "dead-letters", [found.dead_letters.lag]


def _stopped(one: ProjectionStatus) -> Iterator[str]:
    if one.stopped_by:
        yield f"{_named(one)} is stopped: {one.stopped_by}"
    if one.held:
        first = one.held[0]
        yield (
            f"{_named(one)} holds {len(one.held)} aggregates, the first: "
            f"{first.aggregate_type} {first.aggregate_id!r} needs version "
            f"{first.version_needed}, {_why(first)}; see `verdict blocked list`"
        )


def _why(held: BlockedAggregateStatus) -> str:
    return f"which cannot be applied: {held.error}" if held.error else "which is missing"


def _quarantined(quarantines: QuarantinedAggregates) -> Iterator[str]:
    if first := quarantines.first:
        yield (
            f"{quarantines.aggregates} aggregates are quarantined, the first: "
            f"{first.aggregate_type} {first.aggregate_id!r}, damaged from version {first.version} "
            f"on: {first.error}; see all in the view aggregate_quarantined; bring their events "
            "back, then stop the service and run `verdict recover`"
        )


def _out_of_order(scattered: ScatteredKeys) -> Iterator[str]:
    if first := scattered.first:
        yield (
            f"{scattered.aggregates} aggregates of the newest 5,000 commands have commands on "
            f"several partitions, the first: {first.aggregate_type} {first.aggregate_id!r} on "
            f"{first.partitions}; their order of sending is not kept: let every sender use "
            "murmur2 (librdkafka: partitioner=murmur2_random)"
        )


def _given_up(letters: DeadLettersStatus) -> Iterator[str]:
    if letters.parked:
        yield (
            f"{letters.parked} dead letters are parked, and are not tried again: see why with "
            "`verdict dead-letters list`"
        )


def _unexpected(one: PolicyRejections) -> Iterator[str]:
    if one.unexpected:
        code = f" {one.rule_code}" if one.rule_code else ""
        yield (
            f"unexpected rejections of commands of the policy {one.policy} in the last 24 hours: "
            f"{one.unexpected} with {one.reason}{code}; what it drives may be stuck; see why with "
            f"`verdict explain {one.newest}`, and all of them in the view policy_rejection"
        )


def _named(one: ProjectionStatus) -> str:
    return f"projection {one.projection} v{one.version}"
