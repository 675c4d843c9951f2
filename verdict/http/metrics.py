"""What Prometheus gets: how far everything has come, asked for when it scrapes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from verdict.operations.status.sampler import StatusSample
from verdict.operations.status.status import PolicyRejections

Value = tuple[tuple[str, ...], float]
Family = CounterMetricFamily | GaugeMetricFamily
OTHER = "other"
CODES = 50  # of rules, as labels
COUNTS = "_total"  # of what it is, and what grows only


class Metric(NamedTuple):
    """A name, what it says, its labels, and its values in a look."""

    name: str
    about: str
    labels: tuple[str, ...]
    values: Callable[[StatusSample], Iterable[Value | None]]


class Standings(Collector):
    """Looks whenever it is asked; it keeps no counts, so a restart loses none."""

    def __init__(self, look: Callable[[], StatusSample]) -> None:
        self._look = look

    def describe(self) -> Iterator[Family]:
        """Yield the names, without looking."""
        yield from (_family(metric, ()) for metric in METRICS)

    def collect(self) -> Iterator[Family]:
        """Yield every metric; what is unknown has no value."""
        look = self._look()
        for metric in METRICS:
            yield _family(metric, (one for one in metric.values(look) if one is not None))


def _family(metric: Metric, values: Iterable[Value]) -> Family:
    kind = CounterMetricFamily if metric.name.endswith(COUNTS) else GaugeMetricFamily
    family = kind(metric.name, metric.about, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _known(label: str | tuple[str, ...], value: float | None) -> Value | None:
    labels = (label,) if isinstance(label, str) else label
    return None if value is None else (labels, value)


def _service(look: StatusSample) -> Iterable[Value]:
    return [((), look.standing.service is not None)]


def _ready(look: StatusSample) -> Iterable[Value]:
    return [((), not look.unready)]


def _problems(look: StatusSample) -> Iterable[Value]:
    return [((), len(look.problems))]


def _stopped(look: StatusSample) -> Iterable[Value]:
    told: set[str] = set().union(*(one.stopped for one in look.standing.processes))
    return [((name,), name in told) for name in sorted({*look.parts, *told})]


def _rules(look: StatusSample) -> Iterable[Value]:
    decider = look.standing.decider
    return [] if decider is None else [((decider.handler_version,), 1)]


def _generation(look: StatusSample) -> Iterable[Value]:
    decider = look.standing.decider
    return [] if decider is None else [((), decider.generation)]


def _batch(look: StatusSample) -> Iterable[Value]:
    decider = look.standing.decider
    return [] if decider is None else [((), decider.batch_id)]


def _decided(look: StatusSample) -> Iterable[Value]:
    every = look.standing.commands or ()
    return [((one.topic, str(one.partition)), one.decided) for one in every]


def _ends(look: StatusSample) -> Iterable[Value]:
    every = look.standing.commands or ()
    return [((one.topic, str(one.partition)), one.end) for one in every]


def _events(look: StatusSample) -> Iterable[Value | None]:
    return [_known((), look.standing.events)]


def _answered(look: StatusSample) -> Iterable[Value]:
    return (((outcome,), times) for outcome, times in (look.standing.answered or {}).items())


def _refused(look: StatusSample) -> Iterable[Value]:
    """Count by the most frequent codes: a rule may compute its codes, and labels are bounded."""
    counts = Counter(look.standing.refused or {})
    shown = dict(counts.most_common(CODES))
    others = counts.total() - sum(shown.values())
    return (
        ((code,), times) for code, times in (shown | ({OTHER: others} if others else {})).items()
    )


def _latency(look: StatusSample) -> Iterable[Value]:
    service = look.standing.service
    if service is None or (latency := service.latency) is None:
        return []
    told = {"0.5": latency.p50_ms, "0.99": latency.p99_ms, "1": latency.most_ms}
    return [((part,), millis / 1000) for part, millis in told.items()]


def _lag(look: StatusSample) -> Iterable[Value | None]:
    return (_known(name, one.waiting) for name, one in look.parts.items())


def _seconds(look: StatusSample) -> Iterable[Value | None]:
    return (_known(name, one.seconds) for name, one in look.parts.items())


def _still(look: StatusSample) -> Iterable[Value | None]:
    return (_known(name, one.still_s) for name, one in look.parts.items())


def _projection_lag(look: StatusSample) -> Iterable[Value | None]:
    for one in look.standing.projections or ():
        yield _known((one.projection, str(one.version), one.state), one.lag)


def _projection_stopped(look: StatusSample) -> Iterable[Value]:
    for one in look.standing.projections or ():
        yield (one.projection, str(one.version), one.state), one.stopped_by is not None


def _held(look: StatusSample) -> Iterable[Value]:
    for one in look.standing.projections or ():
        yield (one.projection, str(one.version), one.state), len(one.held)


def _letters(look: StatusSample) -> Iterable[Value]:
    if (letters := look.standing.dead_letters) is not None:
        yield from ((("waiting",), letters.waiting), (("parked",), letters.parked))


def _policy_rejected(look: StatusSample) -> Iterable[Value]:
    return _by_reason(look, lambda one: one.rejected)


def _policy_unexpected(look: StatusSample) -> Iterable[Value]:
    return _by_reason(look, lambda one: one.unexpected)


def _by_reason(look: StatusSample, counted: Callable[[PolicyRejections], int]) -> Iterable[Value]:
    sums = Counter[tuple[str, str]]()
    for one in look.standing.policy_rejections or ():
        sums[one.policy, one.reason] += counted(one)
    return sums.items()


PLACE = ("topic", "partition")
VERSION = ("projection", "version", "state")
REJECTED = ("policy", "reason")

METRICS = (
    Metric("verdict_service_running", "1 when a decider runs on the data directory.", (), _service),
    Metric("verdict_ready", "1 when commands are decided, as /readyz says.", (), _ready),
    Metric(
        "verdict_problems", "What somebody should look after, as the page lists.", (), _problems
    ),
    Metric(
        "verdict_component_stopped",
        "1 when a part of the service is stopped.",
        ("component",),
        _stopped,
    ),
    Metric(
        "verdict_lag_records",
        "What waits for a part, in offsets: a transaction takes one more than its records.",
        ("component",),
        _lag,
    ),
    Metric(
        "verdict_lag_seconds",
        "Since when what waits for a part has been there, as scrapes and page saw it.",
        ("component",),
        _seconds,
    ),
    Metric(
        "verdict_no_progress_seconds",
        "For how long a part has taken nothing while something waited.",
        ("component",),
        _still,
    ),
    Metric("verdict_commands_sent_total", "Commands that were sent, in offsets.", PLACE, _ends),
    Metric("verdict_commands_decided_total", "Of these, what is decided.", PLACE, _decided),
    Metric("verdict_events_total", "Events that the archive has.", (), _events),
    Metric(
        "verdict_answered_last_minute",
        "Commands of the last 60 s that were answered: `ACCEPTED`, or the reason of a rejection.",
        ("outcome",),
        _answered,
    ),
    Metric(
        "verdict_refused_last_minute",
        "Commands of the last 60 s that a rule refused, by its code; `other`: a code that is not "
        "in the file of the rules.",
        ("rule_code",),
        _refused,
    ),
    Metric(
        "verdict_answer_seconds",
        "Within which time that part of the commands of the last 60 s was answered, from Kafka's "
        "time of each to the commit of its answer.",
        ("quantile",),
        _latency,
    ),
    Metric("verdict_decider_info", "1; the versions of the rules.", ("rules",), _rules),
    Metric("verdict_decider_generation", "Counts who became the decider.", (), _generation),
    Metric("verdict_decider_batch", "The last batch that was published.", (), _batch),
    Metric(
        "verdict_projection_lag_records",
        "What a version of a read model has not read, in offsets.",
        VERSION,
        _projection_lag,
    ),
    Metric(
        "verdict_projection_stopped", "1 when a version is stopped.", VERSION, _projection_stopped
    ),
    Metric("verdict_projection_blocked", "Aggregates that wait in a version.", VERSION, _held),
    Metric(
        "verdict_policy_rejected_total",
        "Rejections of commands that policies sent.",
        REJECTED,
        _policy_rejected,
    ),
    Metric(
        "verdict_policy_rejected_unexpected",
        "Of these, the ones that need attention, as `verdict status` lists them.",
        REJECTED,
        _policy_unexpected,
    ),
    Metric("verdict_dead_letters", "Dead letters, `waiting` or `parked`.", ("status",), _letters),
)
