"""What reads a running service: rows of views, events in order, its status."""

from typing import TYPE_CHECKING

from verdict.lazy_imports import load_lazily

if TYPE_CHECKING:
    from verdict.adapters.sql.readers.reader import Access, Reader
    from verdict.operations.status.collect import get_status, wait_until_idle
    from verdict.operations.status.status import StatusReport
    from verdict.read_side.read_your_writes import ReadToken, wait_for_projection
    from verdict.streaming.event_log.subscription import SubscribedEvent, Subscription
    from verdict.wire.partitions import TopicPartition

__all__ = [
    "Access", "ReadToken", "Reader", "StatusReport", "SubscribedEvent", "Subscription",
    "TopicPartition", "get_status", "wait_for_projection", "wait_until_idle",
]  # fmt: skip

if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
