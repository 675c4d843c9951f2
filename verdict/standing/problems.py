"""What is wrong, in words for people: who is stopped, who is ahead of Kafka, what is given up."""

from collections.abc import Iterable, Iterator

from verdict.standing.facts import (
    HeldAggregate,
    LettersStanding,
    ProjectionStanding,
    ScatteredKeys,
    Standing,
)


def problems_of(found: Standing) -> Iterator[str]:
    """Yield what these facts say is wrong."""
    yield from _ahead(found)
    for one in found.projections or ():
        if one.role == "live":
            yield from _stopped(one)
    if found.scattered is not None:
        yield from _out_of_order(found.scattered)
    if found.letters is not None:
        yield from _given_up(found.letters)


def _ahead(found: Standing) -> Iterator[str]:
    """Yield who has read further than Kafka goes."""
    for name, lags in _lags(found):
        if (lag := min((one for one in lags if one is not None), default=0)) < 0:
            yield (
                f"{name} has read {-lag} offsets further than Kafka goes: a topic was deleted, or "
                "these are the marker or the tables of another Kafka; look at bootstrap_servers "
                "and database_url"
            )


def _lags(found: Standing) -> Iterator[tuple[str, Iterable[int | None]]]:
    yield "the decider", (one.lag for one in found.commands or ())
    for processor in found.processors or ():
        yield f"the {processor.processor}", [processor.lag]
    for one in found.projections or ():
        yield _named(one), [one.lag]
    if found.letters is not None:
        yield "the intake of letters", [found.letters.lag]


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


def _named(one: ProjectionStanding) -> str:
    return f"projection {one.projection} v{one.version}"
