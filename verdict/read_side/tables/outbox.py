"""The tables of the outbox: never rebuilt and never dropped, as they say what was sent."""

from collections.abc import Mapping

from sqlalchemy import Column, MetaData, Table, Text, cast, select

from verdict.adapters.sql.instant import InstantType
from verdict.adapters.sql.json_type import JsonType
from verdict.read_side.projections.described import View, described

metadata = MetaData()
# one row for each batch that is recorded with all of its messages
batches = Table(
    "outbox_batch_v1",
    metadata,
    Column("outbox", Text, primary_key=True),
    Column("batch", Text, primary_key=True),
    Column("recorded_at", InstantType, nullable=False),
)
messages = Table(
    "outbox_v1",
    metadata,
    Column("outbox", Text, primary_key=True),
    Column("batch", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("id", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("worker", Text),
    Column("lease_until", InstantType),
    Column("sent_at", InstantType),
    Column("error", Text),
)
_shown = {
    name: cast(column, JsonType).label(name) if name == "content" else column
    for name, column in messages.c.items()
}
VIEWS: Mapping[str, View] = {
    "outbox": described(
        select(*_shown.values()),
        "Messages that leave for other systems, such as mails, and what became of each.",
        outbox="What sends it.",
        batch="What it is part of; a batch is recorded once, with all of its messages.",
        key="Which message of its batch it is.",
        id="Its id for the receiver, the same each time it is sent.",
        content="What the message is made from.",
        status="DUE, SENT or FAILED.",
        worker="The process that has it.",
        lease_until="Until when no other process may send it.",
        sent_at="When the receiver's system accepted it.",
        error="Why it could not be sent.",
    )
}
