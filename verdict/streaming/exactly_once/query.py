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
    """One query of a deployment; at any time one process owns it.

    Args:
        name: The progress record's key, `DECIDER` for the one with a state.
        transactional_id: Fences a former owner; names the consumer group of the lag display, too.
        progress records: The topic of the progress record.
        inputs: The topics that it reads.
        outputs: The topics that must be empty as long as it has no progress record.
        others: Further topics that it writes to.
        handler_version: Of the rules that compute the output.
        first_shards: How many shards the very first start sets up; afterwards the progress says.
        shards: How many were asked for by name; another number in the progress refuses the start.
        seeded: The generation whose recovered state a fresh checkpoint is given.
    """

    name: str
    transactional_id: str
    progress_topic: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    handler_version: str
    first_shards: int
    others: tuple[str, ...] = ()
    shards: int | None = None
    seeded: int | None = None

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
    return query_of(
        topics,
        DECIDER,
        inputs=topics.every_commands(),
        outputs=[*map(topics.events, names), *map(topics.responses, names)],
        others=[topics.dead_letters, topics.skips, *map(topics.rejected, names)],
        handler_version=topics.application.handler_versions,
        first_shards=shards,
    )


def lake_query(topics: Topics) -> Query:
    """Return the query of the lake, whose outputs are files; without a lake it reads nothing."""
    table = topics.application.lake
    return query_of(
        topics,
        LAKE,
        inputs=[] if table is None else [topics.events(table.aggregate_type)],
        outputs=[],
        others=[topics.dead_letters],
        handler_version="1",
    )


def query_of(  # noqa: PLR0913  (the same facts as above, without those that a name implies)
    topics: Topics,
    name: str,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    others: Sequence[str],
    handler_version: str,
    first_shards: int = 1,
    shards: int | None = None,
) -> Query:
    """Return a query of a deployment under its conventional names."""
    return Query(
        name=name,
        transactional_id=topics.transactional_id(name),
        progress_topic=topics.progress,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        others=tuple(others),
        handler_version=handler_version,
        first_shards=first_shards if shards is None else shards,
        shards=shards,
    )
