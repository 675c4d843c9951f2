"""Those whom the live query brings forward: at first who is near the end of the log, later all."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from verdict.read_side.apply.applier import Applier
from verdict.read_side.apply.batch import ProjectionBatch
from verdict.read_side.live.batch_split import next_part, split, split_start
from verdict.read_side.live.live_head import LiveHead, apply_rest, reached_by
from verdict.read_side.live.source import KafkaBatches
from verdict.wire.partitions import OffsetRange, Spans

NO_BOUND = 2**62  # who joins is near


class LiveSet:
    """The live query's appliers, and who comes to be one of them.

    Args:
        appliers: All, in the order in which a batch updates their projections.
        batches: Of the deployment.
        log: What Kafka has, of each partition that any of them follows. An applier that needs
            something from before that is stopped here, unless people decided to pass that over.
        pause_s: What passes between two batches at least, in seconds.

    Attributes:
        front: Where the query begins, and where it is since.
        cohorts: Appliers that somebody else has to bring to the front, together.
    """

    def __init__(
        self,
        appliers: Sequence[Applier],
        batches: KafkaBatches,
        log: Spans,
        pause_s: float,
    ) -> None:
        self._all = appliers
        self._batches = batches
        ends = {place: kept.end for place, kept in log.items()}
        for applier in appliers:
            reached = reached_by(applier, ends)
            starts = {place: log[place].start for place in reached}
            gone = {
                place: OffsetRange(starts[place], starts[place])
                for place in reached
                if reached[place] < starts[place]
            }
            if gone:
                applier.apply(ProjectionBatch([], gone))
        appliers = [applier for applier in appliers if not applier.is_stopped]
        all_reached = [reached_by(applier, ends) for applier in appliers]
        leading, cohorts = split(all_reached, ends, batches.most)
        self._leading = {appliers[number] for number in leading}
        self.cohorts = [[appliers[number] for number in cohort] for cohort in cohorts]
        start = split_start([all_reached[number] for number in leading], ends)
        self.front = LiveHead(start, batches.most, pause_s)

    def apply(self, frame: DataFrame, spans: Spans) -> None:
        """Apply a batch of the live query, and take those along who wait for it.

        Raises:
            SupersededError, DBAPIError: As `Applier.follow` does.
        """
        self._take_along(self.front.begin_batch(spans), spans)
        leading = [applier for applier in self._all if applier in self._leading]
        for batch in self._batches.batches(frame, spans) if leading else ():
            for applier in leading:
                applier.follow(batch)
        for applier in self._leading:
            apply_rest(applier, self.front)
        self.front.end_batch()

    def stopped(self) -> list[Applier]:
        """Return who does not go on, and so does not find out what people did since."""
        return [applier for applier in self._all if applier.is_stopped]

    def _take_along(self, joining: Sequence[Applier], spans: Spans) -> None:
        """Bring those who join to where the batch starts; it is their next one then."""
        starts = {place: span.start for place, span in spans.items()}
        left = next_part([reached_by(one, starts) for one in joining], starts, NO_BOUND)
        for batch in self._batches.between(left) if left else ():
            for applier in joining:
                applier.follow(batch)
        self._leading |= {*joining}
