"""Metrics for Prometheus, from a look at the deployment at each scrape."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from verdict.operations.status.sampler import Lag, StatusSample
from verdict.operations.status.status import (
    CommandsStatus,
    DeciderStatus,
    PolicyRejections,
    ProjectionStatus,
)

Value = tuple[tuple[str, ...], float]
OTHER = "other"
CODES = 50  # of rules, as labels
COUNTER = "_total"  # the end of the name of what only grows


class Metric(NamedTuple):
    """A metric, and how its values come from a look; None: unknown."""

    name: str
    about: str
    labels: tuple[str, ...]
    values: Callable[[StatusSample], Iterable[tuple[tuple[str, ...], float | None]]]


class StatusCollector(Collector):
    """Looks at each scrape; it keeps no counts, so a restart loses none."""

    def __init__(self, look: Callable[[], StatusSample]) -> None:
        self._look = look

    def describe(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield the names, without looking."""
        yield from (_family(metric, ()) for metric in METRICS)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield every metric; what is unknown has no value."""
        look = self._look()
        for metric in METRICS:
            known = ((labels, one) for labels, one in metric.values(look) if one is not None)
            yield _family(metric, known)


def _family(metric: Metric, values: Iterable[Value]) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if metric.name.endswith(COUNTER) else GaugeMetricFamily
    family = kind(metric.name, metric.about, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _stopped(look: StatusSample) -> Iterable[Value]:
    stopped: set[str] = set().union(*(one.stopped for one in look.standing.processes))
    return [((name,), name in stopped) for name in sorted({*look.parts, *stopped})]


def _refused(look: StatusSample) -> Iterable[Value]:
    """Count the most frequent codes: a rule may compute its codes, and labels must be few."""
    counts = Counter(look.standing.refused or {})
    shown = dict(counts.most_common(CODES))
    if others := counts.total() - sum(shown.values()):
        shown[OTHER] = others
    return (((code,), times) for code, times in shown.items())


def _latency(look: StatusSample) -> Iterable[Value]:
    service = look.standing.service
    if service is None or (latency := service.latency) is None:
        return []
    found = {"0.5": latency.p50_ms, "0.99": latency.p99_ms, "1": latency.most_ms}
    return [((part,), millis / 1000) for part, millis in found.items()]


def _dead_letters(look: StatusSample) -> Iterable[Value]:
    if (found := look.standing.dead_letters) is not None:
        yield from ((("waiting",), found.waiting), (("parked",), found.parked))


def _one(name: str, about: str, value: Callable[[StatusSample], float | None]) -> Metric:
    return Metric(name, about, (), lambda look: [((), value(look))])


def _of_parts(name: str, about: str, value: Callable[[Lag], float | None]) -> Metric:
    def values(look: StatusSample) -> Iterable[tuple[tuple[str, ...], float | None]]:
        return (((component,), value(one)) for component, one in look.parts.items())

    return Metric(name, about, ("component",), values)


def _of_commands(name: str, about: str, value: Callable[[CommandsStatus], int]) -> Metric:
    def values(look: StatusSample) -> Iterable[Value]:
        every = look.standing.commands or ()
        return (((one.topic, str(one.partition)), value(one)) for one in every)

    return Metric(name, about, ("topic", "partition"), values)


def _of_decider(name: str, about: str, value: Callable[[DeciderStatus], Value]) -> Metric:
    labels = ("rules",) if name.endswith("_info") else ()
    return Metric(
        name, about, labels, lambda look: map(value, filter(None, [look.standing.decider]))
    )


def _of_projections(
    name: str, about: str, value: Callable[[ProjectionStatus], float | None]
) -> Metric:
    def values(look: StatusSample) -> Iterable[tuple[tuple[str, ...], float | None]]:
        for one in look.standing.projections or ():
            yield (one.projection, str(one.version), one.state), value(one)

    return Metric(name, about, ("projection", "version", "state"), values)


def _of_policies(name: str, about: str, counted: Callable[[PolicyRejections], int]) -> Metric:
    def values(look: StatusSample) -> Iterable[Value]:
        sums = Counter[tuple[str, str]]()
        for one in look.standing.policy_rejections or ():
            sums[one.policy, one.reason] += counted(one)
        return sums.items()

    return Metric(name, about, ("policy", "reason"), values)


METRICS = (
    _one(
        "verdict_service_running",
        "1 when a decider runs on the data directory.",
        lambda look: look.standing.service is not None,
    ),
    _one(
        "verdict_ready",
        "1 when commands are decided, as /readyz says.",
        lambda look: not look.unready,
    ),
    _one(
        "verdict_problems",
        "What needs attention, as the page lists it.",
        lambda look: len(look.problems),
    ),
    Metric(
        "verdict_component_stopped",
        "1 when a component of the service is stopped.",
        ("component",),
        _stopped,
    ),
    _of_parts(
        "verdict_lag_records",
        "What waits for a component, in offsets: a transaction takes one more than its records.",
        lambda one: one.waiting,
    ),
    _of_parts(
        "verdict_lag_seconds",
        "How long the oldest of that has waited, as scrapes and page saw it.",
        lambda one: one.seconds,
    ),
    _of_parts(
        "verdict_no_progress_seconds",
        "For how long a component has read nothing while something waited.",
        lambda one: one.still_s,
    ),
    _of_commands(
        "verdict_commands_sent_total", "Commands that were sent, in offsets.", lambda one: one.end
    ),
    _of_commands(
        "verdict_commands_decided_total",
        "Of these, how many are decided.",
        lambda one: one.decided,
    ),
    _one("verdict_events_total", "Events in the archive.", lambda look: look.standing.events),
    Metric(
        "verdict_answered_last_minute",
        "Outcomes of the last 60 s: `ACCEPTED`, or the reason of a rejection.",
        ("outcome",),
        lambda look: (((name,), times) for name, times in (look.standing.answered or {}).items()),
    ),
    Metric(
        "verdict_refused_last_minute",
        "Commands that a rule refused in the last 60 s, by its code; `other`: rare codes.",
        ("rule_code",),
        _refused,
    ),
    Metric(
        "verdict_answer_seconds",
        "Time from a command's arrival in Kafka to the commit of its outcome: that part of the "
        "commands of the last 60 s took no longer.",
        ("quantile",),
        _latency,
    ),
    _of_decider(
        "verdict_decider_info",
        "1; the versions of the rules.",
        lambda one: ((one.handler_version,), 1),
    ),
    _of_decider(
        "verdict_decider_generation",
        "Counts the owners of the decider's topics.",
        lambda one: ((), one.generation),
    ),
    _of_decider(
        "verdict_decider_batch", "The last published batch.", lambda one: ((), one.batch_id)
    ),
    _of_projections(
        "verdict_projection_lag_records",
        "What a version of a projection has not read, in offsets.",
        lambda one: one.lag,
    ),
    _of_projections(
        "verdict_projection_stopped",
        "1 when a version of a projection is stopped.",
        lambda one: one.stopped_by is not None,
    ),
    _of_projections(
        "verdict_projection_blocked",
        "Aggregates that a version of a projection blocks.",
        lambda one: len(one.held),
    ),
    _of_policies(
        "verdict_policy_rejected_total",
        "Rejections of commands that policies sent.",
        lambda one: one.rejected,
    ),
    _of_policies(
        "verdict_policy_rejected_unexpected",
        "Of these, the ones that need attention, as `verdict status` lists them.",
        lambda one: one.unexpected,
    ),
    Metric(
        "verdict_dead_letters", "Dead letters, `waiting` or `parked`.", ("status",), _dead_letters
    ),
)
