"""From a record of Kafka's to a letter, whatever anybody has put there."""

from confluent_kafka import Message

from verdict.adapters.kafka.reader import header_bytes, headers_of
from verdict.client.producer import source_of
from verdict.model.source import Source
from verdict.wire.dead_letter_record import DeadLetterRecord
from verdict.wire.topics import KEY_BYTES, LARGEST_BYTES, OUTPUT_BYTES

FRAME_BYTES = 4_000  # what Kafka puts around a record, and the headers of a retry
SKIP = "have its sender send it in another way, and skip this"
NAMED_ODDLY = f"the name of one of its headers is no text in UTF-8: none is kept; {SKIP}"


def letter_of(message: Message) -> DeadLetterRecord:
    """Return a record as a letter; of one that no topic would take again, its beginning."""
    key, value = header_bytes(message.key()), header_bytes(message.value())
    headers, unfit = headers_of(message), None
    if headers is None:
        headers, unfit = (), NAMED_ODDLY
    size = sum(len(part or b"") for part in (key, value, *(text for _, text in headers)))
    size += sum(len(name.encode()) for name, _ in headers)
    if size > OUTPUT_BYTES - FRAME_BYTES:
        unfit = (
            f"it has {size} bytes with its key and headers, and a topic takes "
            f"{OUTPUT_BYTES - FRAME_BYTES}: its beginning is kept, without headers; {SKIP}"
        )
        key, value, headers = key and key[:KEY_BYTES], value and value[:LARGEST_BYTES], ()
    return DeadLetterRecord(
        source=source_of(message),
        timestamp=message.timestamp()[1],
        key=key,
        value=value,
        headers=headers,
        unfit=unfit,
    )


def unreadable(source: Source, error: str) -> DeadLetterRecord:
    """Return the letter of a record that Kafka's client cannot unpack."""
    unfit = f"none of its bytes can be read ({error}): {SKIP}"
    return DeadLetterRecord(source=source, timestamp=0, key=None, value=None, unfit=unfit)
