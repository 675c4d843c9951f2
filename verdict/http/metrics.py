"""Metrics for Prometheus, from a look at the deployment at each scrape."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from verdict.operations.status.sampler import StatusSample

OTHER = "other"
CODES = 50  # of rules, as labels

Row = tuple[Sequence[str], Sequence[float | None]]  # labels, and a value for each metric


class StatusCollector(Collector):
    """Looks at each scrape; it keeps no counts, so a restart loses none."""

    def __init__(self, look: Callable[[], StatusSample]) -> None:
        self._look = look

    def describe(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield the names, without looking."""
        for group in METRICS:
            yield from _families(group)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield every metric; what is unknown has no value."""
        look = self._look()
        for group in METRICS:
            families = _families(group)
            for labels, values in group.rows(look):
                for family, value in zip(families, values, strict=True):
                    if value is not None:
                        family.add_metric(labels, value)
            yield from families


class MetricGroup(NamedTuple):
    """Metrics with the same labels: what each means, and their values in a look."""

    labels: tuple[str, ...]
    meanings: Mapping[str, str]
    rows: Callable[[StatusSample], Iterable[Row]]


def _families(group: MetricGroup) -> list[CounterMetricFamily | GaugeMetricFamily]:
    return [
        (CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily)(
            name, about, labels=group.labels
        )
        for name, about in group.meanings.items()
    ]


def _deployment(look: StatusSample) -> Iterable[Row]:
    found = look.standing
    yield (), (found.service is not None, not look.unready, len(look.problems), found.events)


def _stopped(look: StatusSample) -> Iterable[Row]:
    stopped: set[str] = set().union(*(one.stopped for one in look.standing.processes))
    return (((name,), (name in stopped,)) for name in sorted({*look.parts, *stopped}))


def _components(look: StatusSample) -> Iterable[Row]:
    return (((name,), (one.waiting, one.seconds, one.still_s)) for name, one in look.parts.items())


def _partitions(look: StatusSample) -> Iterable[Row]:
    for one in look.standing.commands or ():
        yield (one.topic, str(one.partition)), (one.end, one.decided)


def _answered(look: StatusSample) -> Iterable[Row]:
    return (((name,), (times,)) for name, times in (look.standing.answered or {}).items())


def _refused(look: StatusSample) -> Iterable[Row]:
    """Yield the most frequent codes: a rule may compute its codes, and labels must be few."""
    counts = Counter(look.standing.refused or {})
    shown = dict(counts.most_common(CODES))
    if others := counts.total() - sum(shown.values()):
        shown[OTHER] = others
    return (((code,), (times,)) for code, times in shown.items())


def _latency(look: StatusSample) -> Iterable[Row]:
    service = look.standing.service
    if service is not None and (latency := service.latency) is not None:
        found = {"0.5": latency.p50_ms, "0.99": latency.p99_ms, "1": latency.most_ms}
        yield from (((quantile,), (millis / 1000,)) for quantile, millis in found.items())


def _rules(look: StatusSample) -> Iterable[Row]:
    if (found := look.standing.decider) is not None:
        yield (found.handler_version,), (1,)


def _decider(look: StatusSample) -> Iterable[Row]:
    if (found := look.standing.decider) is not None:
        yield (), (found.generation, found.batch_id)


def _projections(look: StatusSample) -> Iterable[Row]:
    for one in look.standing.projections or ():
        labels = (one.projection, str(one.version), one.state)
        yield labels, (one.lag, one.stopped_by is not None, len(one.held))


def _policies(look: StatusSample) -> Iterable[Row]:
    rejected, unexpected = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for one in look.standing.policy_rejections or ():
        rejected[one.policy, one.reason] += one.rejected
        unexpected[one.policy, one.reason] += one.unexpected
    return ((labels, (times, unexpected[labels])) for labels, times in rejected.items())


def _dead_letters(look: StatusSample) -> Iterable[Row]:
    if (found := look.standing.dead_letters) is not None:
        yield from ((("waiting",), (found.waiting,)), (("parked",), (found.parked,)))


METRICS = (
    MetricGroup(
        (),
        {
            "verdict_service_running": "1 when a decider runs on the data directory.",
            "verdict_ready": "1 when commands are decided, as /readyz says.",
            "verdict_problems": "What needs attention, as the page lists it.",
            "verdict_events_total": "Events in the archive.",
        },
        _deployment,
    ),
    MetricGroup(
        ("component",),
        {"verdict_component_stopped": "1 when a component of the service is stopped."},
        _stopped,
    ),
    MetricGroup(
        ("component",),
        {
            "verdict_lag_records": "What waits for a component, in offsets: a transaction takes "
            "one more than its records.",
            "verdict_lag_seconds": "How long the oldest of that has waited, as scrapes and page "
            "saw it.",
            "verdict_no_progress_seconds": "For how long a component has read nothing while "
            "something waited.",
        },
        _components,
    ),
    MetricGroup(
        ("topic", "partition"),
        {
            "verdict_commands_sent_total": "Commands that were sent, in offsets.",
            "verdict_commands_decided_total": "Of these, how many are decided.",
        },
        _partitions,
    ),
    MetricGroup(
        ("outcome",),
        {
            "verdict_answered_last_minute": "Outcomes of the last 60 s: `ACCEPTED`, or the reason "
            "of a rejection."
        },
        _answered,
    ),
    MetricGroup(
        ("rule_code",),
        {
            "verdict_refused_last_minute": "Commands that a rule refused in the last 60 s, by its "
            "code; `other`: rare codes."
        },
        _refused,
    ),
    MetricGroup(
        ("quantile",),
        {
            "verdict_answer_seconds": "Time from a command's arrival in Kafka to the commit of "
            "its outcome: that part of the commands of the last 60 s took no longer."
        },
        _latency,
    ),
    MetricGroup(("rules",), {"verdict_decider_info": "1; the versions of the rules."}, _rules),
    MetricGroup(
        (),
        {
            "verdict_decider_generation": "Counts the owners of the decider's topics.",
            "verdict_decider_batch": "The last published batch.",
        },
        _decider,
    ),
    MetricGroup(
        ("projection", "version", "state"),
        {
            "verdict_projection_lag_records": "What a version of a projection has not read, in "
            "offsets.",
            "verdict_projection_stopped": "1 when a version of a projection is stopped.",
            "verdict_projection_blocked": "Aggregates that a version of a projection blocks.",
        },
        _projections,
    ),
    MetricGroup(
        ("policy", "reason"),
        {
            "verdict_policy_rejected_total": "Rejections of commands that policies sent.",
            "verdict_policy_rejected_unexpected": "Of these, the ones that need attention, as "
            "`verdict status` lists them.",
        },
        _policies,
    ),
    MetricGroup(
        ("status",), {"verdict_dead_letters": "Dead letters, `waiting` or `parked`."}, _dead_letters
    ),
)
