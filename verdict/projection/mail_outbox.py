"""The outbox of mails: never rebuilt and never dropped, as it says what has left the house."""

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, select

from verdict.database.instant import InstantType

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
VIEWS = {"mail_outbox": select(*(column for column in mails.c if column.name != "bucket"))}
