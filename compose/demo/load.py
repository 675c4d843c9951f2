"""Chapter: many commands from two producers at once, and what became of them."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import Message

from compose.cli.positions import From, spans
from compose.demo.audit import Audit
from compose.demo.plan import Planned, planned, wishes
from compose.demo.sending import LOAD, send_all
from compose.demo.settling import await_views, ends
from compose.demo.story import Measure, Story
from schemas.registry import aggregate_types
from schemas.response import Status

SHOWN = 3
LOADED = ("order", "position")  # the aggregate types that the load is for

OUTCOMES = """\
SELECT coalesce(reason, status), duplicate, aggregate_type, count(*) FROM outcome
WHERE correlation_id = :flow GROUP BY 1, 2, 3"""

WINNERS = """\
SELECT substr(command_id, 1, 1), count(*) FROM outcome
WHERE command_id LIKE '_-race-%' AND status = 'ACCEPTED' GROUP BY 1 ORDER BY 1"""

HOLDERS = "SELECT client, positions FROM us_holder ORDER BY positions DESC, client"


class Outcomes(NamedTuple):
    """Answers of the load: first ones by verdict and aggregate type, and repeated ones."""

    first: Counter[tuple[str, str]]
    repeated: Counter[str]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records lie on the topics, whoever sent the commands, committed ones only."""

    commands: int
    responses: int
    repeated: int  # responses that are duplicates
    accepted: int  # first responses
    rejected: int  # records on the rejected topics
    dead_letters: int


def tell(story: Story) -> None:
    """Send the load, then show and check what SQL and the topics say about it."""
    story.voice.begin(
        f"{story.commands:,} commands from two producers at once",
        "Both producers change thousands of orders and positions, and some orders they both want. "
        "A few commands carry a stale version, ask for too much or are sent twice. It is known "
        "beforehand what must come of it, except who wins which race.",
    )
    parts = [wishes(name, story.commands // 2) for name in ("A", "B")]
    plan = planned(parts)
    took_s = send_all(story, parts)
    began = time.perf_counter()
    await_views(story)
    late_s = time.perf_counter() - began
    _outcomes(story, plan)
    _identities(story)
    _histories(story, plan)
    story.measures += [
        Measure(
            f"{plan.commands / took_s:,.0f} commands/s",
            f"{plan.commands:,} commands, first one sent to last verdict received: {took_s:.1f} s",
        ),
        Measure(f"{late_s:.1f} s", "from then until every verdict and event is in SQL"),
    ]


def _outcomes(story: Story, plan: Planned) -> None:
    found = outcomes_of(story.select(OUTCOMES, flow=LOAD).rows)
    story.voice.show(
        ("verdict", *LOADED, "all", "must be"),
        outcome_rows(found, plan),
        numbers=(*LOADED, "all", "must be"),
    )
    won = {"A": 0, "B": 0} | dict(story.select(WINNERS).rows)
    story.voice.expect(
        "accepted and rejected by reason are what they must be",
        dict(plan.verdicts),
        dict(by_verdict(found)),
    )
    story.voice.expect(
        f"{plan.repeated:,} repeated commands were answered again, and not done again",
        plan.repeated,
        found.repeated.total(),
    )
    share = ", ".join(f"producer {name} won {count:,}" for name, count in won.items())
    story.voice.expect(
        f"{plan.races:,} races, one winner each: {share}", plan.races, sum(won.values())
    )


def outcomes_of(rows: Iterable[tuple[Any, ...]]) -> Outcomes:
    """Return the counts in rows of verdict, duplicate, aggregate type, count."""
    found = Outcomes(Counter(), Counter())
    for verdict, duplicate, aggregate_type, count in rows:
        if duplicate:
            found.repeated[aggregate_type] += count
        else:
            found.first[verdict, aggregate_type] += count
    return found


def by_verdict(found: Outcomes) -> Counter[str]:
    """Return the first answers by verdict, of all aggregate types."""
    counts: Counter[str] = Counter()
    for (verdict, _), count in found.first.items():
        counts[verdict] += count
    return counts


def outcome_rows(found: Outcomes, plan: Planned) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: accepted, then each reason, then what was repeated."""
    types = LOADED
    sums = by_verdict(found)
    reasons = sorted({*sums, *plan.verdicts} - {Status.ACCEPTED}, key=lambda name: -sums[name])
    for verdict in (Status.ACCEPTED, *reasons):
        counts = [found.first[verdict, name] for name in types]
        label = verdict if verdict == Status.ACCEPTED else f"{Status.REJECTED} {verdict}"
        yield label, *_numbers(*counts, sums[verdict], plan.verdicts[verdict])
    counts = [found.repeated[name] for name in types]
    yield "answered again", *_numbers(*counts, found.repeated.total(), plan.repeated)
    total = sums.total() + found.repeated.total()
    yield "commands", *("" for _ in types), *_numbers(total, plan.commands)


def _numbers(*counts: int) -> Iterator[str]:
    return (f"{count:,}" for count in counts)


def _identities(story: Story) -> None:
    counts = _counts(story)
    for what, expected, found in identities(counts):
        story.voice.expect(what, expected, found)


def identities(counts: Counts) -> Iterator[tuple[str, int, int]]:
    """Yield what must be equal at any quiet point: the statement and the two numbers."""
    answered = counts.responses + counts.dead_letters
    yield (
        f"{counts.commands:,} commands = {counts.responses:,} responses + "
        f"{counts.dead_letters:,} dead letter{'s' * (counts.dead_letters != 1)}",
        counts.commands,
        answered,
    )
    first = counts.responses - counts.repeated
    yield (
        f"{first:,} first responses = {counts.accepted:,} accepted + {counts.rejected:,} rejected",
        first,
        counts.accepted + counts.rejected,
    )


def _counts(story: Story) -> Counts:
    topics, types = story.topics, aggregate_types()
    sums = "SELECT sum(duplicate), sum(NOT duplicate AND status = 'ACCEPTED') FROM outcome"
    [(repeated, accepted)] = story.select(sums).rows
    return Counts(
        # our clients and the plain producer send without transactions: offsets count records
        commands=sum(ends(story.log, topics.every_commands()).values()),
        responses=_count(story, map(topics.responses, types)),
        repeated=repeated,
        accepted=accepted,
        rejected=_count(story, map(topics.rejected, types)),
        dead_letters=_count(story, [topics.dead_letters]),
    )


def _count(story: Story, topics: Iterable[str]) -> int:
    return sum(1 for _ in records(story, topics))


def records(story: Story, topics: Iterable[str]) -> Iterator[Message]:
    """Yield all that lies on `topics` now, each partition's in its order."""
    everything = [
        span for topic in topics for span in spans(story.log, topic, From(), follow=False)
    ]
    return story.log.read(everything)


def _histories(story: Story, plan: Planned) -> None:
    audit = Audit()
    events = {story.topics.events(name): name for name in aggregate_types()}
    for message in records(story, events):
        audit.take(events[str(message.topic())], message.value() or b"")
    story.voice.expect(
        f"{plan.events:,} events came of the load", plan.events, audit.by_correlation[LOAD]
    )
    about = f"{audit.events:,} events of {audit.aggregates:,} aggregates"
    story.voice.expect(f"{about}: versions 1 to n, no gap", [], audit.out_of_version[:SHOWN])
    story.voice.expect(
        f"{about}: each has the hash of the one before", [], audit.out_of_chain[:SHOWN]
    )
    _holders(story, audit)


def _holders(story: Story, audit: Audit) -> None:
    """Show the largest holders, and compare all of them with what the events say."""
    viewed = dict(story.select(HOLDERS).rows)
    folded = audit.holders(story.application.settings.us_exchanges)
    story.voice.show(
        ("client", "positions in us_holder", "in a fold of position.events"),
        [(client, viewed[client], folded[client]) for client in [*viewed][:SHOWN]],
        numbers=("positions in us_holder", "in a fold of position.events"),
    )
    story.voice.expect(
        f"{len(viewed):,} clients hold US stock: the view and the fold agree on every one",
        [],
        disagreements(viewed, folded)[:SHOWN],
    )


def disagreements(viewed: Mapping[str, int], folded: Mapping[str, int]) -> list[str]:
    """Return the clients about whom view and fold disagree, with both counts."""
    return [
        f"{client} has {viewed.get(client, 0)} in the view, {folded.get(client, 0)} in the fold"
        for client in sorted({*viewed, *folded})
        if viewed.get(client, 0) != folded.get(client, 0)
    ]
