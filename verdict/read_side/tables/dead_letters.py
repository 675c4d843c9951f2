"""Dead letters that wait for their next try or for a person, and what people did to them."""

from sqlalchemy import BigInteger, Index, LargeBinary, Table, Text

from verdict.adapters.sql.column_types import InstantType
from verdict.read_side.tables.columns import metadata, optional, primary, required

table = Table(
    "dead_letter_v1",
    metadata,
    primary("id", Text, "Id of the dead letter."),
    required("topic", Text, "Topic that the record was on."),
    required("partition", BigInteger, "Partition that it was on."),
    required("offset", BigInteger, "Offset that it had."),
    required("attempt", BigInteger, "How often it was tried."),
    required("attempts", BigInteger, "How often it is tried before it is parked."),
    required("retry_topic", Text, "Topic that it goes to for its next try."),
    optional("due_at", InstantType, "When it is tried again; none when it is parked."),
    required("status", Text, "WAITING for its next try, or PARKED for a person."),
    optional("error", Text, "Why it could not be handled."),
    optional("key", LargeBinary, "Key of the record."),
    optional("bytes", LargeBinary, "Value of the record."),
    required("headers", Text, "Headers of the record, as JSON."),
    required("received_at", InstantType, "When Kafka got the dead letter."),
    optional("operator", Text, "Who did something about it last."),
    optional("reason", Text, "The reason that they gave."),
    Index("dead_letter_due_v1", "status", "due_at", "id"),
)
intervention = Table(
    "dead_letter_intervention_v1",
    metadata,
    primary("dead_letter_id", Text, "Id of the dead letter."),
    primary("number", BigInteger, "Counts what was done to the dead letter."),
    required("kind", Text, "What was done."),
    required("operator", Text, "Who did it."),
    optional("reason", Text, "The reason that they gave."),
    required("at", InstantType, "When it was done."),
    required("sha256", Text, "SHA-256 of the bytes that it was done to."),
)
