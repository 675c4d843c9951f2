"""Whatever anybody may send to an application in memory, made up from a seed."""

from collections.abc import Iterator
from random import Random

from tests.application import APPLICATION
from tests.model import Model, Record
from tests.reactions.tills import sales
from tests.traffic import START, Traffic
from verdict.testing import InMemory, LogRecord
from verdict.wire.topics import Topics

TOPICS = Topics(APPLICATION)
STEP_MS = 40


class World:
    """An application in memory, and a clock that senders move.

    Args:
        seed: Of all that is sent.
        topics: Of the deployment.
    """

    def __init__(self, seed: int = 0, topics: Topics = TOPICS) -> None:
        self.now = START
        self.app = InMemory(APPLICATION, topics=topics, clock=lambda: self.now)
        self._seed = seed

    def send(self, commands: int, invoices: int = 0, states: int = 0) -> None:
        """Send so many of each; see `anything`."""
        for one in anything(self._seed, commands, invoices, states):
            self.now = one.timestamp
            self.app.put(one.topic, one.value, one.key)

    def commands(self) -> list[Record]:
        """Return the whole commands log, the commands of policies included."""
        every = self.app.topics.every_commands()
        return [as_record(one) for topic in every for one in self.app.events(topic)]


def anything(seed: int, commands: int, invoices: int = 0, states: int = 0) -> Iterator[Record]:
    """Yield so many of each, in any order; with each comes what the senders do wrong.

    Partition and offset are for whoever takes them.
    """
    random, now = Random(seed), START
    model, traffic = Model(), Traffic(random, aggregates=4)
    tills = sales(invoices, seed)
    kinds = ["command"] * commands + ["invoice"] * invoices + ["state"] * states
    random.shuffle(kinds)
    for kind in kinds:
        now += STEP_MS
        if kind == "command":
            asked = traffic.next(model)
            now = asked.timestamp
            model.take(asked)
            yield asked
        elif kind == "invoice" and (sold := next(tills, None)):
            yield Record("POS", 0, 0, now, sold[0].encode(), sold[1])
        elif kind == "state":
            yield Record("share-holders", 0, 0, now, *_holding(random))


def _holding(random: Random) -> tuple[bytes, bytes | None]:
    key, exchange = random.choice("abcd"), random.choice(("NYSE", "LON"))
    whole = f'{{"id": "{key}", "client": "ada", "ticker": "FB", "amount": 3, '
    whole += f'"exchange": "{exchange}"}}'
    return key.encode(), random.choice((whole.encode(), None, b"garbage"))


def as_record(record: LogRecord) -> Record:
    """Return a record as the model takes it."""
    return Record(*record[:-1])
