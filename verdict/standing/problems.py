"""What is wrong, in words for people: who is stopped, who is ahead of Kafka, what is given up."""

from collections.abc import Iterable, Iterator

from verdict.foundation.place import DECIDER
from verdict.standing.facts import (
    HeldAggregate,
    LettersStanding,
    PolicyRejections,
    Problem,
    ProjectionStanding,
    QuarantinedAggregates,
    ScatteredKeys,
    Standing,
)


def problems_of(found: Standing) -> Iterator[Problem]:
    """Yield what these facts say is wrong."""
    yield from _ahead(found)
    yield from map(Problem, _kept_waiting(found))
    yield from map(Problem, _of_readers(found))


def _of_readers(found: Standing) -> Iterator[str]:
    for one in found.projections or ():
        if one.role == "live":
            yield from _stopped(one)
    if found.quarantines is not None:
        yield from _quarantined(found.quarantines)
    if found.scattered is not None:
        yield from _out_of_order(found.scattered)
    if found.letters is not None:
        yield from _given_up(found.letters)
    for rejections in found.policy_rejections or ():
        yield from _unexpected(rejections)


def _ahead(found: Standing) -> Iterator[Problem]:
    """Yield who has read further than Kafka goes."""
    for name, part, lags in _lags(found):
        if (lag := min((one for one in lags if one is not None), default=0)) < 0:
            yield Problem(
                f"{name} has read {-lag} offsets further than Kafka goes: a topic was deleted, or "
                "these are the marker or the tables of another Kafka; look at bootstrap_servers "
                "and database_url",
                part,
            )


def _kept_waiting(found: Standing) -> Iterator[str]:
    for one in found.open_transactions:
        yield (
            f"a transaction stays open on {one.topic}:{one.partition} at offset {one.offset}: "
            f"nobody reads the {one.end - one.offset} offsets from there on until it is ended, by "
            "its producer or by Kafka (transaction.timeout.ms); its producer is named by "
            f"`kafka-transactions.sh describe-producers --topic {one.topic} "
            f"--partition {one.partition}`"
        )


def _lags(found: Standing) -> Iterator[tuple[str, str, Iterable[int | None]]]:
    yield "the decider", DECIDER, (one.lag for one in found.commands or ())
    for processor in found.processors or ():
        yield f"the {processor.processor}", processor.processor, [processor.lag]
    for one in found.projections or ():
        yield _named(one), one.projection, [one.lag]
    if found.letters is not None:
        yield "the intake of letters", "letters", [found.letters.lag]


def _stopped(one: ProjectionStanding) -> Iterator[str]:
    if one.stopped_by:
        yield f"{_named(one)} is stopped: {one.stopped_by}"
    if one.held:
        first = one.held[0]
        yield (
            f"{_named(one)} holds {len(one.held)} aggregates, the first: "
            f"{first.aggregate_type} {first.aggregate_id!r} needs version "
            f"{first.version_needed}, {_why(first)}; see `verdict letters list`"
        )


def _why(held: HeldAggregate) -> str:
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
            f"{scattered.aggregates} aggregates have commands on several partitions, "
            f"the first: {first.aggregate_type} {first.aggregate_id!r} on "
            f"{first.partitions}; their order of sending is not kept: let every sender use "
            "murmur2 (librdkafka: partitioner=murmur2_random)"
        )


def _given_up(letters: LettersStanding) -> Iterator[str]:
    if letters.parked:
        yield (
            f"{letters.parked} letters are parked, nobody tries them again: see why with "
            "`verdict letters list`"
        )


def _unexpected(one: PolicyRejections) -> Iterator[str]:
    if one.unexpected:
        code = f" {one.rule_code}" if one.rule_code else ""
        yield (
            f"unexpected rejections of commands of the policy {one.policy} in the last 24 hours: "
            f"{one.unexpected} with {one.reason}{code}; what it drives may be stuck; see why with "
            f"`verdict why {one.newest}`, and all of them in the view policy_rejection"
        )


def _named(one: ProjectionStanding) -> str:
    return f"projection {one.projection} v{one.version}"
