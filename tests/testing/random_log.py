"""Whatever anybody may send to an application in memory, made up from a seed."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from tests.application import APPLICATION
from tests.model import Model, Record
from tests.reactions.tills import sales
from tests.traffic import START, Traffic
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable
from verdict.testing import InMemory, LogRecord
from verdict.wire.topics import Topics

TOPICS = Topics(APPLICATION)
STEP_MS = 40


class World:
    """An application in memory, and a clock that senders move."""

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


Select = Callable[[str], list[dict[str, Any]]]

OTHERWISE = {
    "projection_position": "offsets of what a service writes: Kafka's own records are between",
    "us_holder_change": "the order in which events of several partitions arrive",
    "source_topic": "ids that Kafka gives its topics",
}
COLUMNS: Mapping[str, set[str]] = {
    "event_archive": {"global_position", "offset"},  # the order of arrival; as above
    # its place follows from its own, where one without a key has any partition; when it came
    "dead_letter": {"id", "partition", "offset", "due_at", "received_at"},
    "projection_blocked": {"found_at"},  # when
    **{f"{kind}_state": {"global_position"} for kind in APPLICATION.aggregate_types},
}
OF_AN_EVENT = re.compile(r"(\.events:\d+):\d+")  # an offset in the error of a letter


def views(select: Select) -> dict[str, Counter[str]]:
    """Return the rows of every view that must not depend on more than the log."""
    compared = [view for view in readable(projections(APPLICATION)) if view not in OTHERWISE]
    return {
        view: _rows(select(f"SELECT * FROM {view}"), COLUMNS.get(view, set())) for view in compared
    }


def _rows(rows: list[dict[str, Any]], without: set[str]) -> Counter[str]:
    return Counter(
        OF_AN_EVENT.sub(
            r"\1", repr({name: value for name, value in row.items() if name not in without})
        )
        for row in rows
    )
