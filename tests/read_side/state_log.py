"""States of positions as others write them to a compacted topic, some of them unreadable."""

from zlib import crc32

from schemas.share_holding import ShareHolding
from verdict.read_side.apply.batch import Delivery, ProjectionBatch, StateChange, UnreadableRecord
from verdict.wire.partitions import OffsetRange, TopicPartition

TOPIC = "share-holders"
PARTITIONS = 3

BAD = UnreadableRecord("ValidationError: no JSON")

State = tuple[str, str] | UnreadableRecord | None  # client, exchange


class StateLog:
    """The topic `share-holders`."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.ends = [0] * PARTITIONS
        self._taken = [0] * PARTITIONS

    def put(self, position_id: str, state: State) -> None:
        """Write a position as it is from now on, None once it is closed."""
        if isinstance(state, tuple):
            client, exchange = state
            value = ShareHolding(
                id=position_id, client=client, ticker="FB", amount=33, exchange=exchange
            )
            self.put_record(position_id, StateChange(position_id, value))
        else:
            self.put_record(position_id, StateChange(position_id, state))

    def put_record(self, position_id: str, record: StateChange | UnreadableRecord) -> None:
        """Write a record at the end of the partition of a position."""
        place = self.next_place(position_id)
        self.deliveries.append(Delivery(*place, record))
        self.ends[place[1]] += 1

    def next_place(self, position_id: str) -> tuple[str, int, int]:
        """Return topic, partition and offset of a position's next record."""
        partition = crc32(position_id.encode()) % PARTITIONS
        return TOPIC, partition, self.ends[partition]

    def batch(self) -> ProjectionBatch:
        """Return what came since the last batch."""
        starts, self._taken = self._taken, [*self.ends]
        return self._from(starts)

    def everything(self) -> ProjectionBatch:
        """Return all there is, from the beginning."""
        return self._from([0] * PARTITIONS)

    def compacted(self, tombstones: bool) -> ProjectionBatch:
        """Return all that compaction leaves: the newest record of each key."""
        newest = {d.record.key: d for d in self.deliveries if isinstance(d.record, StateChange)}
        kept = [
            d
            for d in newest.values()
            if tombstones or (isinstance(d.record, StateChange) and d.record.value is not None)
        ]
        return ProjectionBatch(
            kept, {TopicPartition(TOPIC, n): OffsetRange(0, end) for n, end in enumerate(self.ends)}
        )

    def _from(self, starts: list[int]) -> ProjectionBatch:
        spans = {
            TopicPartition(TOPIC, number): OffsetRange(starts[number], end)
            for number, end in enumerate(self.ends)
        }
        return ProjectionBatch(
            [d for d in self.deliveries if d.offset >= spans[TopicPartition(*d[:2])].start], spans
        )
