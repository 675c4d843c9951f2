"""Fills the tables of a version that nobody sees, from the beginning of Kafka's log."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from compose.kafka_batches import KafkaBatches
from compose.kafka_log import KafkaLog
from compose.rebuilding.errors import RecordsGone
from compose.rebuilding.level import apply
from projections.engine.applier import Applier
from projections.engine.batch import Partition, Span
from projections.engine.projection import Projection
from schemas.topics import Topics

ROWS = 100_000  # offsets that are applied in one transaction


class Step(StrEnum):
    """Where a rebuild is; tests kill it there."""

    BEGUN = "begun"
    APPLIED = "applied"
    BUILT = "built"


OnStep = Callable[[Step], None]
Tell = Callable[[str], None]


def build(
    applier: Applier,
    topics: Topics,
    batches: KafkaBatches,
    log: KafkaLog,
    tell: Tell,
    on_step: OnStep,
) -> int:
    """Apply everything that Kafka holds now; return how many offsets that is.

    The service may run meanwhile: it writes other tables. An interrupted build is begun again.

    Args:
        applier: Of a version whose tables are empty, and that readers do not see.
        topics: Of the deployment.
        batches: Decodes on executors.
        log: Knows where Kafka's log begins and ends.
        tell: Told how far it has come, for a person who waits.
        on_step: Called at each step.

    Raises:
        RecordsGone: Kafka does not have all of it any more.
        StandsStill: The projection failed.
    """
    projection = applier.projection
    spans = _everything(projection, topics, log)
    total, done = sum(span.end for span in spans.values()), 0
    on_step(Step.BEGUN)
    for part in _parts(spans):
        for batch in batches.between(part):
            apply(applier, batch)
            on_step(Step.APPLIED)
        done += sum(span.end - span.start for span in part.values())
        tell(f"{projection.name} v{projection.version}: {done:,} of {total:,} offsets")
    on_step(Step.BUILT)
    return total


def _everything(projection: Projection, topics: Topics, log: KafkaLog) -> dict[Partition, Span]:
    spans = {}
    for topic in projection.topics(topics):
        for number in range(log.partitions(topic)):
            earliest, end = log.bounds(topic, number)
            if earliest > 0:
                raise RecordsGone(projection.name, topic, number, 0, earliest)
            spans[Partition(topic, number)] = Span(0, end)
    return spans


def _parts(spans: Mapping[Partition, Span]) -> Iterator[dict[Partition, Span]]:
    """Yield the spans cut into parts of about `ROWS` offsets, each behind the one before."""
    left = {place: span for place, span in spans.items() if span.start < span.end}
    while left:
        size = max(1, ROWS // len(left))
        part = {p: Span(s.start, min(s.end, s.start + size)) for p, s in left.items()}
        yield part
        left = {p: Span(part[p].end, s.end) for p, s in left.items() if part[p].end < s.end}
