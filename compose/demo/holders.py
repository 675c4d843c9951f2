"""Chapter: five positions, and who holds US stock."""

import json

from commands.position import OpenPosition
from compose.demo.story import Story

PLAIN, CLIENT = "JSON, plain producer", "our Python client"
HOLDERS = [("client1", 2), ("client2", 1)]  # client3 holds in London only
# number, client, ticker, amount, exchange, who sends it
HOLDINGS = (
    ("1", "client1", "AAPL", 100, "NASDAQ", PLAIN),
    ("2", "client1", "VOD", 5, "LON", PLAIN),
    ("3", "client1", "FB", 33, "NASDAQ", PLAIN),
    ("4", "client2", "AAPL", 25, "NASDAQ", CLIENT),
    ("5", "client3", "VOD", 33, "LON", CLIENT),
)


def tell(story: Story) -> None:
    """Open five positions from two kinds of senders and ask the view."""
    story.voice.begin(
        "Who holds US stock?",
        "Five positions are opened. Three come as JSON from a plain Kafka producer, two from the "
        "Python client: who can write to a topic can send commands, and the answer is one SELECT.",
    )
    columns = ("position", "client", "ticker", "amount", "exchange", "sent as")
    story.voice.show(columns, [(f"position-{number}", *rest) for number, *rest in HOLDINGS])
    for number, client, ticker, amount, exchange, sent_as in HOLDINGS:
        opened = OpenPosition(client=client, ticker=ticker, exchange=exchange, amount=amount)
        name = f"position-{number}"
        if sent_as == CLIENT:
            story.clients[0].send(name, opened, expected_version=0)
            continue
        payload = {"type": "OpenPosition"} | opened.model_dump()
        envelope = {"command_id": f"open-{number}", "aggregate_id": name, "expected_version": 0}
        value = json.dumps(envelope | {"payload": payload}).encode()
        story.kafka.produce("position.commands", name.encode(), value)
    story.kafka.flush()
    story.clients[0].flush()
    story.settle()
    found = story.ask("SELECT client, positions FROM us_holder ORDER BY client")
    story.voice.expect(
        "client1 and client2 hold US stock; client3, with London only, does not", HOLDERS, found
    )
