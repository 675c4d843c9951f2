"""What each producer sends in the load: the same for the same seed, and so is what must come of it.

Most commands go to aggregates that only one producer addresses, so their verdicts are known. Some
go to orders that both want, at the same versions and at about the same time: who wins each of
these races nobody knows, but how many are won and lost is certain.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from commands.order import ModifyOrder, PlaceOrder
from compose.demo.lives import Step, order_life, position_life
from verdict import Command, Reason, Status

SEED = 17
AT_ONCE = 200  # lives that go on side by side
REPEATED = 0.02
RECENT = 50  # a repetition is of one of the last so many

# every so many commands, the one at these places is for an order that both producers want
ROUND, PLACE_AT, MODIFY_AT = 50, 10, 30


class Wish(NamedTuple):
    """A command to send, and its verdict, which is None when a race decides.

    `repeated`: it was sent before and is answered again, whatever became of its version.
    """

    aggregate_id: str
    command: Command
    expected_version: int
    command_id: str
    verdict: str | None
    events: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """What must come of a load.

    `verdicts` counts first answers by `ACCEPTED` or the reason; `races` are those decided between
    the producers, each with one winner and one loser.
    """

    commands: int
    verdicts: Counter[str]
    repeated: int
    races: int
    events: int


def wishes(producer: str, commands: int, seed: int = SEED) -> list[Wish]:
    """Return what a producer sends, in order.

    Args:
        producer: Its name; stands before its ids.
        commands: How many; the races lie at the same places for every producer.
        seed: Of everything that is random.
    """
    random = Random(f"{seed} {producer}")
    own = _own(random, producer)
    sent: list[Wish] = []
    repeatable: list[Wish] = []
    for number in range(commands):
        if number % ROUND in (PLACE_AT, MODIFY_AT):
            sent.append(_contested(producer, number))
        elif repeatable and random.random() < REPEATED:
            sent.append(random.choice(repeatable[-RECENT:])._replace(repeated=True, events=0))
        else:
            sent.append(next(own))
            repeatable.append(sent[-1])
    return sent


def planned(parts: Sequence[Iterable[Wish]]) -> Planned:
    """Return what must come of what two producers send together."""
    every = [wish for part in parts for wish in part]
    first = [wish for wish in every if not wish.repeated]
    contested = [wish for wish in first if wish.verdict is None]
    races = len({(wish.aggregate_id, wish.expected_version) for wish in contested})
    verdicts = Counter(wish.verdict for wish in first if wish.verdict is not None)
    verdicts[Status.ACCEPTED] += races
    verdicts[Reason.VERSION_CONFLICT] += len(contested) - races
    return Planned(
        commands=len(every),
        verdicts=verdicts,
        repeated=len(every) - len(first),
        races=races,
        events=sum(wish.events for wish in every) + races,
    )


def _contested(producer: str, number: int) -> Wish:
    """Return the command to an order that the other producer wants, too.

    A producer modifies what it has tried to place, so version 1 is there in any case.
    """
    round_number, place = divmod(number, ROUND)
    price = 10_000 + number * 10 + ord(producer[0])
    command: Command = ModifyOrder(limit_price_cents=price)
    if place == PLACE_AT:
        command = PlaceOrder(
            client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=price
        )
    version = 0 if place == PLACE_AT else 1
    command_id = f"{producer}-race-{round_number}-{version}"
    return Wish(f"wanted-{round_number}", command, version, command_id, None, 0)


def _own(random: Random, producer: str) -> Iterator[Wish]:
    """Yield commands to many aggregates whose lives go on side by side."""
    lives: list[tuple[str, Iterator[Step]]] = []
    begun = asked = 0
    while True:
        while len(lives) < AT_ONCE:
            kind, life = random.choice((("order", order_life), ("position", position_life)))
            lives.append((f"{producer}-{kind}-{begun}", life(random)))
            begun += 1
        index = random.randrange(AT_ONCE)
        aggregate_id, steps = lives[index]
        if (step := next(steps, None)) is None:
            lives.pop(index)
            continue
        asked += 1
        command, version, verdict, events = step
        yield Wish(aggregate_id, command, version, f"{producer}-{asked}", verdict, events)
