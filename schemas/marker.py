"""The marker: the last record of every transaction, and the one truth about what was published."""

from dataclasses import dataclass

from schemas.message import Hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """How far a query has published, written in the same transaction as its output.

    `offsets` maps topic to next offset by partition; a partition that is missing counts as 0.
    `generation` grows with every recovery, `batch_id` is -1 before the first batch of one.
    `owner` is the process that may write; `digest` fingerprints the batch's output, so that a
    replay can prove that it computed the same.
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
