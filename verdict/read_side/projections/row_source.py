"""What the rows of a projection follow from: events of aggregates, or the states of a topic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from verdict.model.recorded_event import RecordedEvent
from verdict.model.rows import Evolve
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.fold import FoldedRow, Group, Key, Remains, Row, RowFold
from verdict.read_side.projections.state_fold import StateFold, key_of
from verdict.wire.topics import Topics


@dataclass(frozen=True)
class EventSource:
    """The events of aggregates, each the next version of its row; a removed row leaves its version.

    Args:
        types: The types of the aggregates.
    """

    types: tuple[str, ...]

    waits_for_events: ClassVar[bool] = True

    def fold(
        self, evolve: Evolve[Row], group: Group[Row], remains: Remains[Row] | None
    ) -> RowFold[Row]:
        """Return what folds events."""
        return RowFold(evolve, group, remains)

    def key(self, delivery: Delivery) -> Key:
        """Return whose event was delivered: type and id."""
        event = delivery.record
        assert isinstance(event, RecordedEvent), "rows are folded from events only"
        return event.aggregate_type, event.aggregate_id

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the topics that the aggregates' events are on."""
        return [topics.events(aggregate_type) for aggregate_type in self.types]

    def keeps(self, kept: FoldedRow[Any]) -> bool:
        """Return whether the table has a row of an aggregate of which this is kept."""
        return kept.version > 0


@dataclass(frozen=True)
class StateSource:
    """The states of a compacted topic, each in the place of its row; a removed row leaves nothing.

    Nothing of it is left in the topic either, once that is compacted: so a table that is built from
    it then is the same.

    Args:
        topic: Without the prefix of a deployment; all records of a key are on one partition.
    """

    topic: str

    types: ClassVar[tuple[str, ...]] = ()
    waits_for_events: ClassVar[bool] = False

    def fold(
        self, evolve: Evolve[Row], group: Group[Row], remains: Remains[Row] | None
    ) -> StateFold[Row]:
        """Return what folds states; nothing of one remains."""
        return StateFold(evolve, group)

    def key(self, delivery: Delivery) -> Key:
        """Return whose state was delivered."""
        return key_of(delivery)

    def topics(self, topics: Topics) -> Sequence[str]:
        """Return the one topic."""
        return (topics.named(self.topic),)

    def keeps(self, kept: FoldedRow[Any]) -> bool:
        """Return whether the table has a row of a key of which this is kept."""
        return kept.row is not None
