"""The progress record: the last record of every transaction; it says what was published."""

from dataclasses import dataclass, field

from verdict.model.message import Hash


@dataclass(frozen=True, slots=True)
class ShardState:
    """Where the log of one shard's state ends: its last entry, and the digest of all up to it."""

    sequence: int
    digest: Hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRecord:
    """How far a query has published, written in the same transaction as its output.

    `offsets` maps topic to next offset by partition; a partition that is missing counts as 0.
    `generation` grows with every recovery, `batch_id` is -1 before the first batch of one.
    `owner` is the process that may write; `digest` fingerprints the batch's output, so that a
    replay can prove that it computed the same.

    `cluster_id` and `topic_ids` (topic → id) are Kafka's own: a topic that was deleted and made
    again has another one. `shard_states` has an entry for each shard, in their order, with the
    sequence 0 of an empty one and -1 as long as nobody knows. All three are empty in a
    progress record that was written before they were known; of a query without state it always is.

    `left` has the offsets of topics that are no inputs any more: where the query goes on when one
    comes back.
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
        """How far each topic was read, those that are left too."""
        return self.left | self.offsets
