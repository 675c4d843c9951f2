"""Whatever anybody may send to an application in memory, made up from a seed."""

from random import Random

from tests.model import Model, Record
from tests.reactions.tills import sales
from tests.traffic import START, Traffic
from verdict.testing import InMemory, LogRecord
from verdict.wire.topics import Topics

TOPICS = Topics()
STEP_MS = 40


class World:
    """An application in memory, and a clock that senders move.

    Args:
        seed: Of all that is sent.
        topics: Of the deployment.
    """

    def __init__(self, seed: int = 0, topics: Topics = TOPICS) -> None:
        self.now = START
        self.app = InMemory(topics=topics, clock=lambda: self.now)
        self._random = Random(seed)
        self._seed = seed

    def send(self, commands: int, invoices: int = 0, states: int = 0) -> None:
        """Send so many of each, in any order; with each comes what the senders do wrong."""
        model, traffic = Model(), Traffic(self._random, aggregates=4)
        tills = sales(invoices, self._seed)
        kinds = ["command"] * commands + ["invoice"] * invoices + ["state"] * states
        self._random.shuffle(kinds)
        for kind in kinds:
            self.now += STEP_MS
            if kind == "command":
                asked = traffic.next(model)
                self.now = asked.timestamp
                model.take(as_record(self.app.put(asked.topic, asked.value, asked.key)))
            elif kind == "invoice" and (sold := next(tills, None)):
                self.app.put("POS", sold[1], sold[0].encode())
            elif kind == "state":
                self.app.put("share-holders", *self._holding())

    def commands(self) -> list[Record]:
        """Return the whole commands log, the commands of policies included."""
        every = self.app.topics.every_commands()
        return [as_record(one) for topic in every for one in self.app.events(topic)]

    def _holding(self) -> tuple[bytes | None, bytes]:
        key, exchange = self._random.choice("abcd"), self._random.choice(("NYSE", "LON"))
        whole = f'{{"id": "{key}", "client": "ada", "ticker": "FB", "amount": 3, '
        whole += f'"exchange": "{exchange}"}}'
        return self._random.choice((whole.encode(), None, b"garbage")), key.encode()


def as_record(record: LogRecord) -> Record:
    """Return a record as the model takes it."""
    return Record(*record[:-1])
