"""The archive compared with Kafka, record by record; pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from heapq import merge
from itertools import groupby
from typing import Any, NamedTuple, cast

from verdict.model.message import iso_time
from verdict.model.nul import spell_out_nul_in
from verdict.model.source import Source
from verdict.operations.audit.finding import Check, Finding
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.builtin.rows import archived_event
from verdict.streaming.event_log.record import PositionedEvent, RawRecord, event_in
from verdict.wire.catalog import AggregateContext
from verdict.wire.codec import schema_id_of
from verdict.wire.json import payload_from
from verdict.wire.stored_event import StoredEvent

Row = Mapping[str, Any]  # of `event_archive`, with all columns


class ArchivedCopies(NamedTuple):
    """One event as the archive has it, and as Kafka has it."""

    row: Row | None
    record: RawRecord | None


def side_by_side(rows: Iterable[Row], records: Iterable[RawRecord]) -> Iterator[ArchivedCopies]:
    """Yield both copies of each record of a partition, in the order of the offsets."""
    both = merge(
        ((row["offset"], True, row) for row in rows),
        ((record.offset, False, record) for record in records),
        key=lambda one: one[0],
    )
    for _, found in groupby(both, key=lambda one: one[0]):
        copies = {archived: one for _, archived, one in found}
        yield ArchivedCopies(
            cast(Row | None, copies.get(True)), cast(RawRecord | None, copies.get(False))
        )


def event_of(context: AggregateContext, copies: ArchivedCopies) -> PositionedEvent:
    """Return the event, from Kafka if it is there."""
    row, record = copies
    if record is not None:
        name, value = (record.key or b"").decode(errors="backslashreplace"), record.value or b""
        place = Source(record.topic, record.partition, record.offset)
    else:
        assert row is not None
        name, value = row["aggregate_id"], bytes(row["value"])
        place = Source(row["topic"], row["partition"], row["offset"])
    content = event_in(context, name, value)
    version = content.event.version if isinstance(content, StoredEvent) else 0
    return PositionedEvent(place, name, version, content)


def differences(
    context: AggregateContext,
    copies: ArchivedCopies,
    placed: PositionedEvent,
    reached: int,
    earliest: int,
) -> Iterator[Finding]:
    """Yield where the archive differs from Kafka, or from its own bytes."""
    row, record = copies
    if row is None:
        if placed.place.offset < reached:
            yield _finding(placed, "Kafka has it, and its row in event_archive is missing")
        return
    if record is None and placed.place.offset >= earliest:
        yield _finding(placed, "event_archive has it, and in Kafka there is nothing at its place")
    if record is not None and bytes(row["value"]) != record.value:
        what = "its value is not that of Kafka's record"
        yield _finding(placed, f"{_row(row)} was altered: {what}", row)
    elif record is None and sha256(bytes(row["value"])).hexdigest() != row["hash"]:
        what = "its hash is not that of its value, and Kafka has dropped the record"
        yield _finding(placed, f"{_row(row)} was altered: {what}", row)
    if altered := sorted(_altered(context, row, placed)):
        yield _finding(placed, f"{_row(row)} was altered: {', '.join(altered)} not as archived")


def _altered(context: AggregateContext, row: Row, placed: PositionedEvent) -> Iterator[str]:
    if isinstance(placed.content, str):
        return
    place, content = placed.place, placed.content
    delivery = Delivery(place.topic, place.partition, place.offset, content.event, content.value)
    for column, value in archived_event(delivery)._asdict().items():
        found, wanted = _plain(column, row[column]), _plain(column, value)
        if column == "value" or found == wanted:
            continue
        if column == "payload" and _is_same_payload(context, content, found):
            continue
        yield column


def _is_same_payload(context: AggregateContext, content: StoredEvent, found: object) -> bool:
    """Tell whether a payload lacks only defaults of fields that its record lacks too."""
    if schema_id_of(content.value) == context.schemas.newest(f"{context.name}_event").id:
        return False
    wanted = spell_out_nul_in(content.event.payload)
    try:
        return payload_from(type(wanted), json.dumps(found)) == wanted
    except ValueError:
        return False


def _plain(column: str, value: object) -> object:
    """Return a value in the form that both databases and the event can give it."""
    if column in ("payload", "metadata") and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    if column == "decided_at" and isinstance(value, int):
        return iso_time(value)
    return value


def _row(row: Row) -> str:
    return f"row {row['global_position']} of event_archive"


def _finding(placed: PositionedEvent, what: str, row: Row | None = None) -> Finding:
    content = placed.content
    known = content.event.aggregate_type if isinstance(content, StoredEvent) else None
    if known is None and row is not None:
        known = row["aggregate_type"]
    version = placed.version or (row["version"] if row else None)
    return Finding(Check.ARCHIVE, what, known, placed.aggregate_id, version, placed.place)
