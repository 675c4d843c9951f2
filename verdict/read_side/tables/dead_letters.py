"""Dead letters that wait for their next try or for a person, and what people did to them."""

from sqlalchemy import BigInteger, Column, Index, LargeBinary, MetaData, Table, Text

from verdict.adapters.sql.instant import InstantType

metadata = MetaData()
table = Table(
    "dead_letter_v1",
    metadata,
    Column("id", Text, primary_key=True),
    Column("topic", Text, nullable=False),
    Column("partition", BigInteger, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("retry_topic", Text, nullable=False),
    Column("due_at", InstantType),  # of those that wait
    Column("status", Text, nullable=False),
    Column("error", Text),
    Column("key", LargeBinary),
    Column("bytes", LargeBinary),
    Column("headers", Text, nullable=False),  # JSON, see verdict.reactions.dead_letters.headers
    Column("received_at", InstantType, nullable=False),  # Kafka's time of the letter
    Column("operator", Text),  # of the last intervention
    Column("reason", Text),
    Index("dead_letter_due_v1", "status", "due_at", "id"),
)
intervention = Table(
    "dead_letter_intervention_v1",
    metadata,
    Column("dead_letter_id", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("operator", Text, nullable=False),
    Column("reason", Text),
    Column("at", InstantType, nullable=False),
    Column("sha256", Text, nullable=False),  # of the bytes that it was done to
)
