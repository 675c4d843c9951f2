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
    Column("positions", BigInteger, key="number", nullable=False),  # its name of before
    Column("status", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("worker", Text),
    Column("lease_until", InstantType),
    Column("sent_at", InstantType),
    Column("error", Text),
)
VIEWS: Mapping[str, View] = {
    "mail_outbox": described(
        select(*(column.label(column.key) for column in mails.c if column.key != "bucket")),
        "The weekly mails: one for each receiver and week, and what became of it.",
        week="ISO week that the mail is about, such as 2026-W47.",
        client="Who gets it.",
        number="The number that the mail tells, as it was at the end of the week.",
        status="DUE, SENT or FAILED.",
        message_id="Message-ID of the mail, the same whenever it is sent.",
        worker="Which worker has it.",
        lease_until="Until when that worker has it for itself.",
        sent_at="When it was sent.",
        error="Why it could not be sent.",
    )
}
