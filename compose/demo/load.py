"""Chapter: many commands from two producers at once, and what became of them."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Message

from compose.demo.plan import Planned, planned, wishes
from compose.demo.sending import LOAD, send_all
from compose.demo.settling import await_views
from compose.demo.story import Measure, Story
from verdict import Status
from verdict.audit.auditor import Auditor
from verdict.cli.positions import From, spans

SHOWN = 3
LOADED = ("order", "position")  # the aggregate types that the load is for

OUTCOMES = """\
SELECT coalesce(reason, status), duplicate, aggregate_type, count(*) FROM outcome
WHERE correlation_id = :flow GROUP BY 1, 2, 3"""

WINNERS = """\
SELECT substr(command_id, 1, 1), count(*) FROM outcome
WHERE command_id LIKE '_-race-%' AND status = 'ACCEPTED' GROUP BY 1 ORDER BY 1"""

EVENTS = """\
SELECT sum(to_version - from_version) FROM outcome
WHERE correlation_id = :flow AND NOT duplicate AND status = 'ACCEPTED'"""

HOLDERS = "SELECT client, positions FROM us_holder ORDER BY positions DESC, client"


class Outcomes(NamedTuple):
    """Answers of the load: first ones by verdict and aggregate type, and repeated ones."""

    first: Counter[tuple[str, str]]
    repeated: Counter[str]


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
    _holders(story)
    _books(story, plan)
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


def _holders(story: Story) -> None:
    columns = ("client", "positions in us_holder")
    story.voice.show(columns, [*story.select(HOLDERS).rows][:SHOWN], numbers=columns[1:])


def _books(story: Story, plan: Planned) -> None:
    """Let an auditor look at all of it, as `verdict verify` does."""
    auditor = Auditor(story.running.settings)
    findings = [*map(str, auditor.findings()), *auditor.looked.unavailable]
    looked = auditor.looked.at
    for what, expected, found in identities(looked):
        story.voice.expect(what, expected, found)
    [(events,)] = story.select(EVENTS, flow=LOAD).rows
    story.voice.expect(f"{plan.events:,} events came of the load", plan.events, events)
    story.voice.expect(
        f"{looked['events']:,} events of {looked['aggregates']:,} aggregates: no gap, each with "
        "the hash of the one before",
        [],
        findings[:SHOWN],
    )
    story.voice.tell("Archive, operator's state and read models are what these events say.")


def identities(looked: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """Yield what must be equal at any quiet point: the statement and the two numbers."""
    commands, responses, letters = (
        looked.get(name, 0) for name in ("commands", "responses", "dead letters")
    )
    yield (
        f"{commands:,} commands = {responses:,} responses + {letters:,} dead "
        f"letter{'s' * (letters != 1)}",
        commands,
        responses + letters,
    )
    first = responses - looked.get("duplicates", 0)
    accepted, rejected = looked.get("accepted", 0), looked.get("rejections", 0)
    yield (
        f"{first:,} first responses = {accepted:,} accepted + {rejected:,} rejected",
        first,
        accepted + rejected,
    )


def records(story: Story, topics: Iterable[str]) -> Iterator[Message]:
    """Yield all that lies on `topics` now, each partition's in its order."""
    everything = [
        span for topic in topics for span in spans(story.log, topic, From(), follow=False)
    ]
    return story.log.read(everything)
