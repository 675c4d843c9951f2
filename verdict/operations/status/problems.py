"""What needs attention, as sentences, and whether commands are decided in spite of it."""

import time
from collections.abc import Iterable, Iterator

from verdict.adapters.kafka.monitor import local_time
from verdict.adapters.kafka.topic_drift import MISSING, Difference
from verdict.operations.status.status import (
    KAFKA,
    BlockedAggregateStatus,
    Problem,
    ProjectionStatus,
    StatusReport,
)
from verdict.settings.discovery import AnnouncedService
from verdict.streaming.exactly_once.query import DECIDER
from verdict.streaming.queries.batches_under_way import where_to_look

NOTHING_RUNS = "no verdict runs on"
SILENT_S = 60.0  # a service gives a sign of life every few seconds, but a start may be busy
STILL_S = 30.0  # without progress while something waits


def not_running(found: StatusReport) -> Iterator[Problem]:
    """Yield that nothing runs on the data directory, or that it has not started yet."""
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
    """Yield since when the service waits for Kafka, if it does."""
    if (since := service.kafka_away_since) is not None:
        yield Problem(
            f"Kafka is away since {local_time(since)}, for {time.time() - since:.0f} s: what is "
            "sent waits, nothing is lost, and the service goes on when it is back",
            KAFKA,
        )


def killed(service: AnnouncedService) -> Problem:
    """Return that a role that ran alone has ended without being stopped."""
    role = " ".join(service.roles)
    return Problem(
        f"the role {role}, pid {service.pid}, has ended without a last word (kill -9, want of "
        f"memory): start `verdict run {role}` again"
    )


def service_problems(service: AnnouncedService, silent_s: float) -> Iterator[Problem]:
    """Yield that a service is silent, which components are stopped, and which batch hangs."""
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
            f"{where_to_look(query)}",
            query,
        )


def no_progress(name: str, still_s: float, waiting: int | None) -> Iterator[Problem]:
    """Yield that a component makes no progress although something waits for it."""
    if still_s >= STILL_S and waiting:
        yield Problem(f"{name}: no progress for {still_s:.0f} s while {waiting:,} wait", name)


def unready(found: StatusReport, problems: Iterable[Problem]) -> Iterator[str]:
    """Yield why commands are not decided now; nothing if they are.

    They are decided without a database, and without a projection that is stopped.
    """
    if found.processes and found.service is None:
        yield f"no decider runs on {found.data_dir}: start `verdict run decider`"
    else:
        yield from (one for one in problems if one.part in (DECIDER, KAFKA))


def topic_problems(differences: Iterable[Difference]) -> Iterator[Problem]:
    """Yield the topics with wrong settings; a missing topic is created, so it is none."""
    for one in differences:
        if not one.fatal:
            yield Problem(str(one))
        elif one.setting != MISSING:
            yield Problem(
                f"{one}: Kafka may drop or refuse what must stay, and the next start is refused; "
                "fix it, see `verdict topics check`"
            )


def problems_of(found: StatusReport) -> Iterator[Problem]:
    """Yield what is wrong according to Kafka's ends and the views."""
    yield from _ahead(found)
    sentences = (_open, _projections, _quarantined, _scattered, _parked, _rejections)
    for each in sentences:
        yield from map(Problem, each(found))


def _ahead(found: StatusReport) -> Iterator[Problem]:
    for name, part, lags in _lags(found):
        if (lag := min((one for one in lags if one is not None), default=0)) < 0:
            yield Problem(
                f"{name} has read {-lag} offsets further than Kafka goes: a topic was deleted, or "
                "these are the progress record or the tables of another Kafka; look at "
                "bootstrap_servers and database_url",
                part,
            )


def _lags(found: StatusReport) -> Iterator[tuple[str, str, Iterable[int | None]]]:
    yield "the decider", DECIDER, (one.lag for one in found.commands or ())
    for processor in found.processors or ():
        yield f"the {processor.processor}", processor.processor, [processor.lag]
    for one in found.projections or ():
        yield _named(one), one.projection, [one.lag]
    if found.dead_letters is not None:
        yield "the intake of dead letters", "dead-letters", [found.dead_letters.lag]


def _open(found: StatusReport) -> Iterator[str]:
    for one in found.open_transactions:
        yield (
            f"a transaction stays open on {one.topic}:{one.partition} at offset {one.offset}: "
            f"the {one.end - one.offset} offsets from there on are not read until it is ended, by "
            "its producer or by Kafka (transaction.timeout.ms); its producer is named by "
            f"`kafka-transactions.sh describe-producers --topic {one.topic} "
            f"--partition {one.partition}`"
        )


def _projections(found: StatusReport) -> Iterator[str]:
    for one in found.projections or ():
        if one.state == "live" and one.stopped_by:
            yield f"{_named(one)} is stopped: {one.stopped_by}"
        if one.state == "live" and one.held:
            first = one.held[0]
            yield (
                f"{_named(one)} blocks {len(one.held)} aggregates, the first: "
                f"{first.aggregate_type} {first.aggregate_id!r} needs version "
                f"{first.version_needed}, {_cause(first)}; see `verdict blocked list`"
            )


def _cause(held: BlockedAggregateStatus) -> str:
    return f"which cannot be applied: {held.error}" if held.error else "which is missing"


def _quarantined(found: StatusReport) -> Iterator[str]:
    if (one := found.quarantines) and one.aggregates:
        yield (
            f"{one.aggregates} aggregates are quarantined, the first: {one.aggregate_type} "
            f"{one.aggregate_id!r}, damaged from version {one.version} on: {one.error}; see all in "
            "the view aggregate_quarantined; bring their events back, then stop the service and "
            "run `verdict recover`"
        )


def _scattered(found: StatusReport) -> Iterator[str]:
    if (one := found.scattered) and one.aggregates:
        yield (
            f"{one.aggregates} aggregates of the newest 5,000 commands have commands on several "
            f"partitions, the first: {one.aggregate_type} {one.aggregate_id!r} on "
            f"{one.partitions}; their order of sending is not kept: let every sender use murmur2 "
            "(librdkafka: partitioner=murmur2_random)"
        )


def _parked(found: StatusReport) -> Iterator[str]:
    if found.dead_letters and found.dead_letters.parked:
        yield (
            f"{found.dead_letters.parked} dead letters are parked, and are not tried again: see "
            "why with `verdict dead-letters list`"
        )


def _rejections(found: StatusReport) -> Iterator[str]:
    for one in found.policy_rejections or ():
        if one.unexpected:
            code = f" {one.rule_code}" if one.rule_code else ""
            yield (
                f"unexpected rejections of commands of the policy {one.policy} in the last 24 "
                f"hours: {one.unexpected} with {one.reason}{code}; what it drives may be stuck; "
                f"see why with `verdict explain {one.newest}`, and all of them in the view "
                "policy_rejection"
            )


def _named(one: ProjectionStatus) -> str:
    return f"projection {one.projection} v{one.version}"
