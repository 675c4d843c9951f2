"""What happens to one order or one position: a random life whose verdicts are known beforehand."""

from collections.abc import Iterator
from random import Random
from typing import Literal, NamedTuple

from commands.order import CancelOrder, DeleteOrder, FillOrder, ModifyOrder, PlaceOrder
from commands.position import (
    AdjustPosition,
    ClosePosition,
    OpenPosition,
    RelistPosition,
    TransferPosition,
)
from verdict import Command, Reason, Status

CLIENTS = 400
TICKERS = ("AAPL", "BP", "FB", "MSFT", "VOD")
EXCHANGES = ("LON", "NASDAQ", "NYSE", "XETRA")
SIDES: tuple[Literal["BUY", "SELL"], ...] = ("BUY", "SELL")
STALE = 0.03
TOO_MUCH = 0.05


class Step(NamedTuple):
    """A command, the version that its sender has seen, and what must come of it."""

    command: Command
    expected_version: int
    verdict: str
    events: int


def order_life(random: Random) -> Iterator[Step]:
    """Yield the commands to one order that nobody else addresses."""
    quantity, price, filled, version = random.randint(10, 99), random.randint(1_000, 9_000), 0, 1
    placed = PlaceOrder(
        client=_client(random),
        ticker=random.choice(TICKERS),
        side=random.choice(SIDES),
        quantity=quantity,
        limit_price_cents=price,
    )
    yield Step(placed, 0, Status.ACCEPTED, 1)
    for _ in range(random.randrange(5)):
        if random.random() < STALE:
            yield Step(CancelOrder(), version - 1, Reason.VERSION_CONFLICT, 0)
        if random.random() < TOO_MUCH:
            too_much = FillOrder(quantity=quantity - filled + 1, price_cents=price)
            yield Step(too_much, version, Reason.BUSINESS_RULE, 0)
        if random.random() < 0.5:
            price += 1
            yield Step(ModifyOrder(limit_price_cents=price), version, Status.ACCEPTED, 1)
        else:
            filled += 1
            yield Step(FillOrder(quantity=1, price_cents=price), version, Status.ACCEPTED, 1)
        version += 1
    rest = FillOrder(quantity=quantity - filled, price_cents=price)
    ends = Step(rest, version, Status.ACCEPTED, 2), Step(CancelOrder(), version, Status.ACCEPTED, 1)
    yield random.choice((*ends, Step(DeleteOrder(), version, Status.ACCEPTED, 1)))


def position_life(random: Random) -> Iterator[Step]:
    """Yield the commands to one position that nobody else addresses; it may be opened again."""
    version = 0
    for _ in range(random.randint(1, 2)):
        client, exchange = _client(random), random.choice(EXCHANGES)
        amount = random.randint(1, 99)
        opened = OpenPosition(
            client=client, ticker=random.choice(TICKERS), exchange=exchange, amount=amount
        )
        yield Step(opened, version, Status.ACCEPTED, 1)
        version += 1
        for _ in range(random.randrange(5)):
            if random.random() < STALE:
                yield Step(ClosePosition(), version - 1, Reason.VERSION_CONFLICT, 0)
            kind = random.randrange(3)
            change: Command
            if kind == 0:
                amount += 1
                change = AdjustPosition(amount=amount)
            elif kind == 1:
                exchange = random.choice([other for other in EXCHANGES if other != exchange])
                change = RelistPosition(exchange=exchange)
            else:
                client = f"{client}-heir"
                change = TransferPosition(client=client)
            yield Step(change, version, Status.ACCEPTED, 1)
            version += 1
        if random.random() < 0.5:
            return
        yield Step(ClosePosition(), version, Status.ACCEPTED, 1)
        version += 1


def _client(random: Random) -> str:
    return f"c-{random.randrange(CLIENTS):03}"
