"""A query, as Kafka and the progress record know it."""

from collections.abc import Sequence
from dataclasses import dataclass

from verdict.adapters.kafka.offsets import Offsets
from verdict.wire.topics import Topics

DECIDER = "decider"
LAKE = "lake"
OWNER = "owner"  # of the topics


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query of a deployment; at any time one process owns it."""

    name: str  # the key of its progress records
    transactional_id: str  # fences a former owner; names the consumer group of the lag display, too
    progress_topic: str
    inputs: Sequence[str]
    outputs: Sequence[str] = ()  # must be empty as long as there is no progress record
    others: Sequence[str] = ()  # further topics that it writes to
    handler_version: str  # of the rules that compute the output
    first_shards: int = 1  # of the very first start; afterwards the progress record has the number
    seeded: int | None = None  # the generation whose recovered state a fresh checkpoint is given

    @property
    def topics(self) -> frozenset[str]:
        """All topics that its progress record speaks of."""
        return frozenset((*self.inputs, *self.outputs, *self.others))

    def of_inputs(self, offsets: Offsets) -> Offsets:
        """Return the offsets of the inputs alone."""
        return {topic: of for topic, of in offsets.items() if topic in self.inputs}

    @property
    def remedy(self) -> str:
        """The command that helps if the progress record is lost."""
        if self.name == DECIDER:
            return "`verdict recover`"
        return f"`verdict reset-progress {self.name} --reason …`"

    @property
    def key(self) -> bytes:
        """The key of its progress records."""
        return self.name.encode()


def decider_query(topics: Topics, shards: int) -> Query:
    """Return the query of the decider."""
    names = topics.application.aggregate_types
    return Query(
        name=DECIDER,
        transactional_id=topics.transactional_id(DECIDER),
        progress_topic=topics.progress,
        inputs=topics.every_commands(),
        outputs=[*map(topics.events, names), *map(topics.responses, names)],
        others=[topics.dead_letters, topics.skips, *map(topics.rejected, names)],
        handler_version=topics.application.handler_versions,
        first_shards=shards,
    )


def lake_query(topics: Topics) -> Query:
    """Return the query of the lake, whose outputs are files; without a lake it reads nothing."""
    table = topics.application.lake
    return Query(
        name=LAKE,
        transactional_id=topics.transactional_id(LAKE),
        progress_topic=topics.progress,
        inputs=[] if table is None else [topics.events(table.aggregate_type)],
        others=[topics.dead_letters],
        handler_version="1",
    )
