"""The last archived event of each partition, held against Kafka: offsets tell no logs apart.

One that begins anew under the same ids, as after the loss of a broker's disk, comes past the place
up to which the former one was read; what lies before that would never be read.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from sqlalchemy import Connection, MetaData, select

from verdict.kafka.access import Kafka
from verdict.kafka.log import KafkaLog
from verdict.projection.event_archive import archive_table
from verdict.wire.spans import Partition, Span

ARCHIVE = archive_table(MetaData())

Archived = Mapping[Partition, tuple[int, str]]
"""By partition, the offset of the last event that is archived, and SHA-256 of it in hex."""


def last_archived(connection: Connection, places: Iterable[Partition]) -> Archived:
    """Return it of these partitions, as far as they have archived events.

    A row that was altered, so that its hash is not that of its value, is for the audit to name.

    Args:
        connection: Of a read side with the table of the archive.
        places: Partitions, of whatever topics.
    """
    columns = ARCHIVE.c
    found = {}
    for place in places:
        here = (columns.topic == place.topic) & (columns.partition == place.partition)
        last = select(columns.offset, columns.value, columns.hash).where(here)
        row = connection.execute(last.order_by(columns.offset.desc()).limit(1)).first()
        if row is not None and sha256(row.value).hexdigest() == row.hash:
            found[place] = row.offset, row.hash
    return found


def others_in_place(kafka: Kafka, archived: Archived) -> Iterator[str]:
    """Yield in words where Kafka has another record; what it has dropped is not looked at.

    Raises:
        Unreachable: Kafka does not answer.
    """
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        kept = log.bounds([*archived]) if archived else {}
        wanted = {
            place: Span(offset, offset + 1)
            for place, (offset, _) in archived.items()
            if kept[place].start <= offset < kept[place].end
        }
        hashes = {
            Partition(str(one.topic()), one.partition() or 0): sha256(one.value() or b"")
            for one in log.read(wanted)
        }
    for place in wanted:
        offset, archived_hash = archived[place]
        if place not in hashes or hashes[place].hexdigest() != archived_hash:
            yield (
                f"{place}:{offset} was archived with the SHA-256 "
                f"{archived_hash[:16]}…, and Kafka has another record there"
            )
