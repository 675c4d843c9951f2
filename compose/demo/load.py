"""Chapter: many commands from two producers at once, what became of them, and why of one."""

import os
import time
from collections.abc import Sequence
from random import Random
from statistics import median

from compose.demo.plan import Wish, planned, wishes
from compose.demo.races import order
from compose.demo.story import Story
from verdict import Reason
from verdict.client import Pending

LOAD = "load"  # the correlation id of every command of the load
LOOKED_AFTER = 500  # commands of each producer
ISOLATED, WAIT_S = 20, 60

OUTCOMES = f"""
    SELECT coalesce(reason, status) AS verdict, duplicate AS answered_again,
           sum(aggregate_type = 'order') AS orders,
           sum(aggregate_type = 'position') AS positions, count(*) AS commands
    FROM outcome WHERE correlation_id = '{LOAD}' GROUP BY 1, 2 ORDER BY 2, 5 DESC"""
WINNERS = """
    SELECT substr(command_id, 1, 1), count(*) FROM outcome
    WHERE command_id LIKE '_-race-%' AND status = 'ACCEPTED' GROUP BY 1 ORDER BY 1"""
REFUSED = """
    SELECT min(command_id) FROM outcome
    WHERE command_id LIKE '_-race-%' AND reason = 'VERSION_CONFLICT'"""
WHY = """
    SELECT lost.command_id, lost.reason, lost.message, won.command_id AS won_by
    FROM outcome lost LEFT JOIN outcome won
      ON won.aggregate_type = lost.aggregate_type AND won.aggregate_id = lost.aggregate_id
      AND won.from_version = lost.expected_version AND won.status = 'ACCEPTED'
    WHERE lost.command_id = '{command_id}'"""


def tell(story: Story) -> None:
    """Send the load, then show and check what SQL says about it."""
    story.voice.begin(
        f"{story.commands:,} commands from two producers at once",
        "Both producers change thousands of orders and positions, and some orders they both want. "
        "A few commands carry a stale version, ask for too much or are sent twice. It is known "
        "beforehand what must come of it, except who wins which race.",
    )
    parts = [wishes(name, story.commands // 2) for name in ("A", "B")]
    plan = planned(parts)
    began = time.perf_counter()
    _send_all(story, parts)
    took_s = time.perf_counter() - began
    story.settle()
    late_s = time.perf_counter() - began - took_s
    answers = story.ask(OUTCOMES)
    found = {verdict: count for verdict, again, *_, count in answers if not again}
    repeated = sum(count for _, again, *_, count in answers if again)
    won = {"A": 0, "B": 0} | dict(story.select(WINNERS))
    right = "accepted and rejected by reason are what they must be"
    story.voice.expect(right, plan.verdicts, found)
    again = f"{plan.repeated:,} repeated commands were answered again, and not done again"
    story.voice.expect(again, plan.repeated, repeated)
    share = ", ".join(f"producer {name} won {count:,}" for name, count in won.items())
    fair = f"{plan.races:,} races, one winner each: {share}"
    story.voice.expect(fair, plan.races, sum(won.values()))
    _measured(story, took_s, late_s)
    _why(story)


def rival(command_id: str) -> str:
    """Return the id of the command that raced against this one: the other producer's."""
    producer, race = command_id[0], command_id[1:]
    return ("B" if producer == "A" else "A") + race


def _send_all(story: Story, parts: Sequence[Sequence[Wish]]) -> None:
    """Send each part through a client of its own, side by side, and await every verdict."""
    sent: list[Pending] = []
    coin = Random(LOAD)
    with story.voice.waiting("sending") as say:
        for number, pair in enumerate(zip(*parts, strict=True)):
            both = [*zip(story.clients, pair, strict=True)]
            coin.shuffle(both)  # so that whose turn it is does not say who wins a race
            for client, wish in both:
                named = {"command_id": wish.command_id, "correlation_id": LOAD}
                sent.append(client.send(*wish[:3], **named))
            if number % LOOKED_AFTER == 0:
                story.interruption.check()
                say(f"sent {len(sent):,} of {story.commands:,}")

    def all_decided() -> bool:
        sent[:] = [one for one in sent if not one.done]
        return not sent

    story.wait_until(all_decided, lambda: f"{len(sent):,} verdicts")


def _measured(story: Story, took_s: float, late_s: float) -> None:
    """Show how fast it was, and how fast a command is that has the service for itself."""
    with story.voice.waiting("timing commands, one by one"):
        alone_ms = [1000 * _took_s(story, number) for number in range(ISOLATED)]
    rate, cores = f"{story.commands / took_s:,.0f} commands/s", f"{os.cpu_count()} cores"
    slowest = f"(slowest {max(alone_ms):,.0f} ms)"
    measured = (
        (rate, f"from the first one sent to the last verdict received: {took_s:.1f} s"),
        (f"{late_s:.1f} s", "from then until every verdict and event is in SQL"),
        (f"{median(alone_ms):,.0f} ms", f"a command alone: median of {ISOLATED} {slowest}"),
        (cores, f"shared by all that runs here; load average {os.getloadavg()[0]:.1f}"),
    )
    story.voice.show(("measured", "here; other machines give other numbers"), measured)


def _took_s(story: Story, number: int) -> float:
    began, placed = time.perf_counter(), order().model_copy(update={"client": "eve"})
    story.clients[0].send(f"alone-{number}", placed, expected_version=0).wait(WAIT_S)
    return time.perf_counter() - began


def _why(story: Story) -> None:
    story.voice.say("")
    story.voice.tell("A command id from somebody's log says why, and who was faster:")
    [(command_id,)] = story.select(REFUSED)
    rows = story.ask(WHY.format(command_id=command_id))
    won_by = rival(str(command_id))
    found = [(reason, winner) for _, reason, _, winner in rows]
    lost = f"{command_id} lost to {won_by} alone"
    story.voice.expect(lost, [(Reason.VERSION_CONFLICT, won_by)], found)
