"""The tables of the outbox: never rebuilt and never dropped, as they record what was sent."""

from collections.abc import Mapping

from sqlalchemy import Table, Text, cast, select

from verdict.adapters.sql.column_types import InstantType, JsonType
from verdict.read_side.projections.documented_view import View, described
from verdict.read_side.tables.columns import metadata, optional, primary, required

# one row per batch that is recorded with all of its messages
batches = Table(
    "outbox_batch_v1",
    metadata,
    primary("outbox", Text),
    primary("batch", Text),
    required("recorded_at", InstantType),
)
messages = Table(
    "outbox_v1",
    metadata,
    primary("outbox", Text, "What sends it."),
    primary("batch", Text, "What it is part of; a batch is recorded once, with all messages."),
    primary("key", Text, "Which message of its batch it is."),
    required("id", Text, "Its id for the receiver, the same each time it is sent."),
    required("content", Text, "What the message is made from."),
    required("status", Text, "DUE, SENT or FAILED."),
    optional("worker", Text, "The process that has it."),
    optional("lease_until", InstantType, "Until when no other process may send it."),
    optional("sent_at", InstantType, "When the receiver's system accepted it."),
    optional("error", Text, "Why it could not be sent."),
)
_content = messages.c.content
VIEWS: Mapping[str, View] = {
    "outbox": described(
        select(*(cast(c, JsonType).label(c.name) if c is _content else c for c in messages.c)),
        "Messages that leave for other systems, such as mails, and what became of each.",
        content=_content.comment or "",
    )
}
