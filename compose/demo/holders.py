"""Chapter: five positions, and who holds US stock."""

import json
from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import KafkaError, Message

from commands.position import OpenPosition
from compose.demo.settling import settle
from compose.demo.story import Story
from verdict import Unreachable

PLAIN = "JSON, plain producer"
CLIENT = "our Python client"
HOLDERS = [("client1", 2), ("client2", 1)]  # client3 holds in London only
QUERY = "SELECT client, positions FROM us_holder ORDER BY client"


class Holding(NamedTuple):
    """A position, and who sends it."""

    position_id: str
    client: str
    ticker: str
    amount: int
    exchange: str
    sent_by: str

    @property
    def command(self) -> OpenPosition:
        """The command that opens it."""
        return OpenPosition(
            client=self.client, ticker=self.ticker, exchange=self.exchange, amount=self.amount
        )


HOLDINGS = (
    Holding("1", "client1", "AAPL", 100, "NASDAQ", PLAIN),
    Holding("2", "client1", "VOD", 5, "LON", PLAIN),
    Holding("3", "client1", "FB", 33, "NASDAQ", PLAIN),
    Holding("4", "client2", "AAPL", 25, "NASDAQ", CLIENT),
    Holding("5", "client3", "VOD", 33, "LON", CLIENT),
)


def tell(story: Story) -> None:
    """Open five positions from two kinds of senders and ask the view."""
    story.voice.begin(
        "Who holds US stock?",
        "Five positions are opened. Three come as JSON from a plain Kafka producer, two from the "
        "Python client: who can write to a topic can send commands, and the answer is one SELECT.",
    )
    pending = []
    for holding in HOLDINGS:
        if holding.sent_by == PLAIN:
            _send_plainly(story, holding)
        else:
            position = f"position-{holding.position_id}"
            pending.append(story.clients[0].send(position, holding.command, expected_version=0))
    for sent in pending:
        story.outcome(sent)
    settle(story)
    story.voice.show(
        ("position", "client", "ticker", "amount", "exchange", "sent as"),
        [(f"position-{number}", *rest) for number, *rest in HOLDINGS],
        numbers=("amount",),
    )
    found = list(story.select(QUERY).rows)
    story.voice.say("")
    story.voice.say(f'verdict sql "{QUERY}"')
    story.voice.show(("client", "positions"), found, numbers=("positions",))
    story.voice.expect(
        "client1 and client2 hold US stock; client3, with London only, does not", HOLDERS, found
    )


def _send_plainly(story: Story, holding: Holding) -> None:
    aggregate_id = f"position-{holding.position_id}"
    envelope = {
        "command_id": f"open-{holding.position_id}",
        "aggregate_id": aggregate_id,
        "expected_version": 0,
        "payload": {"type": "OpenPosition"} | holding.command.model_dump(),
    }
    produce(story, story.topics.commands("position"), aggregate_id, json.dumps(envelope).encode())


def produce(story: Story, topic: str, key: str, value: bytes) -> None:
    """Write a record as any Kafka producer would, and return when Kafka has it.

    Raises:
        Unreachable: Kafka does not take it.
    """
    failures: list[str] = []
    story.plain.produce(topic, value, key.encode(), on_delivery=_noting(failures))
    left = story.plain.flush(30)
    if failures or left:
        reason = failures[0] if failures else "it is not acknowledged after 30 s"
        raise Unreachable(f"a record for {topic} was not taken by Kafka: {reason}")


def _noting(failures: list[str]) -> Callable[[KafkaError | None, Message], None]:
    def note(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error.str())

    return note
