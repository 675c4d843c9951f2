"""The progress record: the last record of every transaction; it says what was published."""

from dataclasses import dataclass, field

from verdict.model.message import Hash


@dataclass(frozen=True, slots=True)
class ShardState:
    """The end of the log of a shard's state: its last entry, and the digest up to it."""

    sequence: int
    digest: Hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRecord:
    """How far a query has published, written in the same transaction as its output.

    `offsets` maps a topic to its next offsets by partition; a missing partition counts as 0.
    `generation` grows with every recovery, and `batch_id` is -1 before its first batch. `owner` is
    the process that may publish. `digest` is that of the batch's output: a replay must compute the
    same. `cluster_id` and `topic_ids` (topic → id) are Kafka's: a recreated topic has another id.
    `shard_states` has one entry per shard in their order, with sequence 0 for an empty one and -1
    for an unknown one; it is empty for a query without state. `left` has the offsets of topics that
    are no inputs any more, in case one comes back.
    """

    query: str
    owner: str
    generation: int
    query_id: str | None
    batch_id: int
    digest: Hash
    offsets: dict[str, list[int]]
    shards: int
    handler_version: str
    cluster_id: str | None = None
    topic_ids: dict[str, str] = field(default_factory=dict)
    shard_states: list[ShardState] = field(default_factory=list)
    left: dict[str, list[int]] = field(default_factory=dict)

    @property
    def read(self) -> dict[str, list[int]]:
        """The next offsets of all topics, former inputs included."""
        return self.left | self.offsets
