"""Topics as data: every name, setting and default is spelled here once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from verdict.model.application import Application

FOREVER = "-1"
OUTPUT_BYTES = 4 * 2**20  # an output may carry a whole command and more: twice Kafka's default
# Of a command, of the events of one, and of what a dead letter keeps of a value. What a command
# holds may lie in an output twice, as itself and in a header; the rest is for what is said of it.
LARGEST_BYTES = 3 * 2**19
KEY_BYTES = 4 * 256  # the longest aggregate id in UTF-8; what is longer is nobody's id
COMMAND_TOPIC_BYTES = 1_000_000  # what Kafka takes on a topic of commands unless told otherwise
COMMAND_RETENTION = timedelta(days=30)
REPLY_RETENTION = timedelta(hours=1)
PARTITIONS = 4
# Spark counts a time in microseconds and ends, for each reader and at each start, of a record whose
# time does not fit; so none that Spark reads has a time of its sender's.
OWN_TIME = {"message.timestamp.type": "LogAppendTime"}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic; those of an aggregate are keyed by its id, so its records stay in one partition.

    One that is not `ours` belongs to another team: it gets its partitions and settings when verdict
    creates it, and is accepted as it is later.
    """

    name: str
    partitions: int
    settings: dict[str, str] = field(default_factory=dict)
    ours: bool = True


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one deployment.

    Args:
        application: Whose aggregates, notifications and inbound topics they are for.
        deployment: Names the progress topic and every transactional id.
        prefix: Stands before every topic name.
        partitions: Of each of an aggregate's four topics.
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

    def beside(self, topic: str) -> list[str]:
        """Return the four topics of the aggregate to which `topic` belongs."""
        of = self.aggregate_of(topic)
        return [self.commands(of), self.events(of), self.responses(of), self.rejected(of)]

    def named(self, name: str) -> str:
        """Return the topic that an application calls `name`."""
        return f"{self.prefix}{name}"

    @property
    def dead_letters(self) -> str:
        return f"{self.prefix}dead-letters"

    @property
    def retry(self) -> str:
        return f"{self.prefix}retry"

    @property
    def states(self) -> list[str]:
        """The topics on which others carry states."""
        return [self.named(one.topic) for one in self.application.state_topics]

    @property
    def inbound(self) -> list[str]:
        """The topics on which other systems write what becomes commands."""
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
        """Return under which name Kafka fences the former one of a part of this deployment."""
        return f"{self.prefix}{self.deployment}.{name}"

    def aggregate_of(self, topic: str) -> str:
        """Return `order` for `order.commands`."""
        return topic.removeprefix(self.prefix).rpartition(".")[0]

    def every_commands(self) -> list[str]:
        """Return the commands topics of all aggregates, sorted."""
        return [*map(self.commands, self.application.aggregate_types)]

    def outputs(self) -> dict[str, int]:
        """Return the topics that verdict alone writes to, and to how many partitions of each.

        Partitions that somebody adds later stay empty: else keys would move to others.
        """
        commands = self.every_commands()
        return {
            topic.name: topic.partitions
            for topic in self.all()
            if topic.ours and topic.name not in commands
        }

    def of_the_log(self) -> list[str]:
        """Return all but the books that the deployment keeps for itself, and copies."""
        others = {self.progress, self.skips, self.owners, self.replies}
        return [topic.name for topic in self.all() if topic.name not in others]

    def all(self) -> Iterator[Topic]:
        """Yield what must exist, with the settings that must hold."""
        for aggregate_type in self.application.aggregate_types:
            yield Topic(self.commands(aggregate_type), self.partitions, _commands())
            yield Topic(self.events(aggregate_type), self.partitions, _output())
            yield Topic(self.responses(aggregate_type), self.partitions, _output())
            yield Topic(self.rejected(aggregate_type), self.partitions, _output())
        yield Topic(self.dead_letters, self.partitions, _output())
        yield Topic(self.retry, self.partitions, _output())
        yield Topic(self.replies, self.partitions, _replies())
        for name in self.states:
            yield Topic(name, self.partitions, _states(), ours=False)
        for name in self.inbound:
            yield Topic(name, self.partitions, _commands(), ours=False)
        for name in dict.fromkeys(one.topic for one in self.application.notifications):
            yield Topic(self.named(name), self.partitions, _output())
        yield Topic(self.progress, 1, _progress_records())
        yield Topic(self.skips, 1, _output())
        yield Topic(self.owners, 1, _progress_records())


def _commands() -> dict[str, str]:
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(COMMAND_RETENTION // timedelta(milliseconds=1)),
        **OWN_TIME,
    }


def _output() -> dict[str, str]:
    return {
        "cleanup.policy": "delete",
        "retention.ms": FOREVER,
        "retention.bytes": FOREVER,
        "max.message.bytes": str(OUTPUT_BYTES),
        **OWN_TIME,
    }


def _replies() -> dict[str, str]:
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(REPLY_RETENTION // timedelta(milliseconds=1)),
        "segment.ms": str(REPLY_RETENTION // timedelta(milliseconds=1)),
        "max.message.bytes": str(OUTPUT_BYTES),
    }


def _states() -> dict[str, str]:
    return {
        "cleanup.policy": "compact",
        # who has read a state and then stood still for longer never learns that it was closed
        "delete.retention.ms": str(COMMAND_RETENTION // timedelta(milliseconds=1)),
        **OWN_TIME,
    }


def _progress_records() -> dict[str, str]:
    return {
        "cleanup.policy": "compact",
        "max.message.bytes": str(OUTPUT_BYTES),
        "segment.ms": str(timedelta(hours=1) // timedelta(milliseconds=1)),
    }
