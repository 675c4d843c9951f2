"""What each producer sends in the load: the same for the same seed, and so is what must come of it.

Most commands go to aggregates that only one producer addresses, so their verdicts are known. Some
go to orders that both want, at the same versions and at about the same time: who wins each of
these races is open, but how many are won and lost is certain.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from commands.order import CancelOrder, DeleteOrder, FillOrder, ModifyOrder, PlaceOrder
from commands.position import AdjustPosition, ClosePosition, OpenPosition, TransferPosition
from verdict import Command, Reason
from verdict.client import Status

SEED = 17
CLIENTS = 400
AT_ONCE = 200  # lives that go on side by side
REPEATED = 0.02
RECENT = 50  # a repetition is of one of the last so many

# every so many commands, the one at these places is for an order that both producers want
ROUND, PLACE_AT, MODIFY_AT = 50, 10, 30

PLACE = PlaceOrder(client="c", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=15_000)
LONDON = OpenPosition(client="c", ticker="VOD", exchange="LON", amount=5)
NASDAQ = OpenPosition(client="c", ticker="AAPL", exchange="NASDAQ", amount=7)
OK, STALE, TOO_MUCH = str(Status.ACCEPTED), str(Reason.VERSION_CONFLICT), str(Reason.BUSINESS_RULE)


Step = tuple[Command, int, str]  # the version that its sender has seen, what must come of it

PLACED: Step = (PLACE, 0, OK)
PRICED: Step = (ModifyOrder(limit_price_cents=14_900), 1, OK)
IN_LONDON, AT_NASDAQ = (LONDON, 0, OK), (NASDAQ, 0, OK)
LIVES: Mapping[str, Sequence[Sequence[Step]]] = {
    "order": (
        (PLACED, PRICED, (FillOrder(quantity=10, price_cents=14_900), 2, OK)),
        (PLACED, PRICED, (CancelOrder(), 1, STALE), (DeleteOrder(), 2, OK)),
        (PLACED, (FillOrder(quantity=4, price_cents=15_000), 1, OK), (CancelOrder(), 2, OK)),
        (PLACED, (FillOrder(quantity=11, price_cents=15_000), 1, TOO_MUCH), PRICED),
        (PLACED,),
    ),
    "position": (
        (IN_LONDON, (AdjustPosition(amount=6), 1, OK), (ClosePosition(), 2, OK)),
        (AT_NASDAQ, (ClosePosition(), 0, STALE), (AdjustPosition(amount=9), 1, OK)),
        (AT_NASDAQ, (ClosePosition(), 1, OK), (LONDON, 2, OK)),
        (AT_NASDAQ, (TransferPosition(client="c-heir"), 1, OK), (ClosePosition(), 2, OK)),
        (AT_NASDAQ,),
    ),
}


class Wish(NamedTuple):
    """A command to send, and its verdict, which is None when a race decides.

    `repeated`: it was sent before and is answered again, whatever became of its version.
    """

    aggregate_id: str
    command: Command
    expected_version: int
    command_id: str
    verdict: str | None
    repeated: bool = False


class Planned(NamedTuple):
    """What must come of a load: first answers by `ACCEPTED` or the reason, one winner a race."""

    verdicts: Counter[str]
    repeated: int
    races: int


def wishes(producer: str, commands: int, seed: int = SEED) -> list[Wish]:
    """Return what a producer sends, in order; races are at the same places for every producer."""
    random = Random(f"{seed} {producer}")
    own = _own(random, producer)
    sent: list[Wish] = []
    repeatable: list[Wish] = []
    for number in range(commands):
        if number % ROUND in (PLACE_AT, MODIFY_AT):
            sent.append(_contested(producer, number))
        elif repeatable and random.random() < REPEATED:
            sent.append(random.choice(repeatable[-RECENT:])._replace(repeated=True))
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
    verdicts[OK] += races
    verdicts[STALE] += len(contested) - races
    return Planned(verdicts, len(every) - len(first), races)


def _contested(producer: str, number: int) -> Wish:
    """Return the command to an order that the other producer wants, too."""
    round_number, place = divmod(number, ROUND)
    price = 10_000 + number * 10 + ord(producer[0])  # no two are alike
    # a producer modifies what it has tried to place, so version 1 is there in any case
    command: Command = ModifyOrder(limit_price_cents=price)
    version = 0 if place == PLACE_AT else 1
    if not version:
        command = PLACE.model_copy(update={"client": "ada", "limit_price_cents": price})
    command_id = f"{producer}-race-{round_number}-{version}"
    return Wish(f"wanted-{round_number}", command, version, command_id, None)


def _own(random: Random, producer: str) -> Iterator[Wish]:
    """Yield commands to many aggregates whose lives go on side by side."""
    lives: list[tuple[str, str, Iterator[Step]]] = []
    begun = asked = 0
    while True:
        while len(lives) < AT_ONCE:
            kind = random.choice([*LIVES])
            client = f"c-{random.randrange(CLIENTS):03}"
            lives.append((f"{producer}-{kind}-{begun}", client, iter(random.choice(LIVES[kind]))))
            begun += 1
        index = random.randrange(AT_ONCE)
        aggregate_id, client, steps = lives[index]
        if (step := next(steps, None)) is None:
            lives.pop(index)
            continue
        asked += 1
        command, version, verdict = step
        if (named := getattr(command, "client", None)) is not None:
            command = command.model_copy(update={"client": named.replace("c", client, 1)})
        yield Wish(aggregate_id, command, version, f"{producer}-{asked}", verdict)
