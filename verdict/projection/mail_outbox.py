"""The outbox of mails: never rebuilt and never dropped, as it says what has left the house."""

from collections.abc import Mapping

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, select

from verdict.database.instant import InstantType
from verdict.projection.described import View, described

metadata = MetaData()
# a week is in it together with all of its mails: who finds it need not work them out
weeks = Table(
    "mail_week_v1",
    metadata,
    Column("week", Text, primary_key=True),
    Column("recorded_at", InstantType, nullable=False),
)
mails = Table(
    "mail_outbox_v1",
    metadata,
    Column("week", Text, primary_key=True),
    Column("client", Text, primary_key=True),
    Column("bucket", BigInteger, nullable=False),
    Column("positions", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("worker", Text),
    Column("lease_until", InstantType),
    Column("sent_at", InstantType),
    Column("error", Text),
)
VIEWS: Mapping[str, View] = {
    "mail_outbox": described(
        select(*(column for column in mails.c if column.name != "bucket")),
        "The weekly mails: one for each holder and week, and what became of it.",
        week="ISO week that the mail is about, such as 2026-W47.",
        client="Who gets it.",
        positions="How many US positions the client held then.",
        status="DUE, SENT or FAILED.",
        message_id="Message-ID of the mail, the same whenever it is sent.",
        worker="Which worker has it.",
        lease_until="Until when that worker has it for itself.",
        sent_at="When it was sent.",
        error="Why it could not be sent.",
    )
}
