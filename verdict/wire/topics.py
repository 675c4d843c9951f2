"""Topics as data: their names, settings and partitions."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from verdict.model.application import Application

FOREVER = "-1"
OUTPUT_BYTES = 4 * 2**20  # an output may carry a whole command and more: twice Kafka's default
# of a command, of its events, and of the value in a dead letter: an output may contain a command
# twice, as a value and in a header, and needs room for the rest
LARGEST_BYTES = 3 * 2**19
COMMAND_BYTES = 64 * 1024  # the largest command, by default
KEY_BYTES = 4 * 256  # the longest aggregate id in UTF-8
COMMAND_TOPIC_BYTES = 1_000_000  # Kafka's default, which commands topics keep
PARTITIONS = 4
HOUR_MS, DAYS_30_MS = "3600000", "2592000000"
# a sender's time that does not fit microseconds would end Spark's reader at each start
OWN_TIME = {"message.timestamp.type": "LogAppendTime"}
LARGE = {"max.message.bytes": str(OUTPUT_BYTES)}
INPUT = {"cleanup.policy": "delete", "retention.ms": DAYS_30_MS, **OWN_TIME}
OUTPUT = {
    "cleanup.policy": "delete",
    "retention.ms": FOREVER,
    "retention.bytes": FOREVER,
    **LARGE,
    **OWN_TIME,
}
REPLIES = {"cleanup.policy": "delete", "retention.ms": HOUR_MS, "segment.ms": HOUR_MS, **LARGE}
PROGRESS = {"cleanup.policy": "compact", "segment.ms": HOUR_MS, **LARGE}
# a reader that is later than this misses a deletion
STATES = {"cleanup.policy": "compact", "delete.retention.ms": DAYS_30_MS, **OWN_TIME}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. One that is not `ours` is created if it is missing, else accepted as it is."""

    name: str
    partitions: int
    settings: dict[str, str] = field(default_factory=dict)
    ours: bool = True


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one deployment.

    Each name begins with `prefix`; `deployment` is part of each transactional id. Topics that need
    more than one partition have `partitions`.
    """

    application: Application
    deployment: str = "verdict"
    prefix: str = ""
    partitions: int = PARTITIONS

    def commands(self, aggregate_type: str) -> str:
        return f"{self.prefix}{aggregate_type}.commands"

    def events(self, aggregate_type: str) -> str:
        return f"{self.prefix}{aggregate_type}.events"

    def responses(self, aggregate_type: str) -> str:
        return f"{self.prefix}{aggregate_type}.responses"

    def rejected(self, aggregate_type: str) -> str:
        return f"{self.prefix}{aggregate_type}.rejected"

    def siblings(self, topic: str) -> list[str]:
        """Return the four topics of the aggregate of `topic`."""
        of = self.aggregate_of(topic)
        return [self.commands(of), self.events(of), self.responses(of), self.rejected(of)]

    def named(self, name: str) -> str:
        """Return the topic of this name in the application."""
        return f"{self.prefix}{name}"

    @property
    def dead_letters(self) -> str:
        return f"{self.prefix}dead-letters"

    @property
    def retry(self) -> str:
        return f"{self.prefix}retry"

    @property
    def states(self) -> list[str]:
        """The topics of states of other systems."""
        return [self.named(one.topic) for one in self.application.state_topics]

    @property
    def inbound(self) -> list[str]:
        """The topics of other systems whose records become commands."""
        return [self.named(one.topic) for one in self.application.inbound]

    @property
    def progress(self) -> str:
        return f"{self.prefix}{self.deployment}.progress"

    @property
    def skips(self) -> str:
        return f"{self.prefix}{self.deployment}.skips"

    @property
    def replies(self) -> str:
        return f"{self.prefix}{self.deployment}.replies"

    @property
    def owners(self) -> str:
        return f"{self.prefix}owners"

    def transactional_id(self, name: str) -> str:
        """Return the id by which Kafka fences an earlier process of a query."""
        return f"{self.prefix}{self.deployment}.{name}"

    def aggregate_of(self, topic: str) -> str:
        """Return `order` for `order.commands`."""
        return topic.removeprefix(self.prefix).rpartition(".")[0]

    def every_commands(self) -> list[str]:
        """Return the commands topics of all aggregates, sorted."""
        return [*map(self.commands, self.application.aggregate_types)]

    def outputs(self) -> dict[str, int]:
        """Return the topics that only verdict writes to, and to how many partitions of each.

        Partitions that are added later stay empty, because keys would move.
        """
        commands = self.every_commands()
        return {
            topic.name: topic.partitions
            for topic in self.all()
            if topic.ours and topic.name not in commands
        }

    def of_the_log(self) -> list[str]:
        """Return all topics except the deployment's own records and the copies of responses."""
        others = {self.progress, self.skips, self.owners, self.replies}
        return [topic.name for topic in self.all() if topic.name not in others]

    def all(self) -> Iterator[Topic]:
        """Yield the topics that must exist, with their required settings."""
        for aggregate_type in self.application.aggregate_types:
            yield Topic(self.commands(aggregate_type), self.partitions, INPUT)
            for output in (self.events, self.responses, self.rejected):
                yield Topic(output(aggregate_type), self.partitions, OUTPUT)
        yield Topic(self.dead_letters, self.partitions, OUTPUT)
        yield Topic(self.retry, self.partitions, OUTPUT)
        yield Topic(self.replies, self.partitions, REPLIES)
        for name in self.states:
            yield Topic(name, self.partitions, STATES, ours=False)
        for name in self.inbound:
            yield Topic(name, self.partitions, INPUT, ours=False)
        for name in dict.fromkeys(one.topic for one in self.application.notifications):
            yield Topic(self.named(name), self.partitions, OUTPUT)
        yield Topic(self.progress, 1, PROGRESS)
        yield Topic(self.skips, 1, OUTPUT)
        yield Topic(self.owners, 1, PROGRESS)
