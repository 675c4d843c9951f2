"""What is asked of the views for page, REST and verbs: by key or time, never without an end."""

from collections.abc import Mapping, Sequence
from json import loads
from typing import Any

from verdict.adapters.sql.readers.reader import Reader
from verdict.model.application import Application
from verdict.model.message import Fields, iso_time
from verdict.read_side.apply.batch import Delivery
from verdict.read_side.projections.builtin.rows import archived_event
from verdict.streaming.event_log.archive import ArchiveRow, HashMismatchError
from verdict.wire.catalog import catalog_of

MOST = 500  # rows of one kind
NEWEST = 20_000  # answers that refusals and verdicts are counted among

EVENT = """\
SELECT global_position, aggregate_type, aggregate_id, version, event_id, event_type, payload,
metadata, topic, "partition", "offset", decided_at, value, hash FROM event_archive"""

OF_COMMAND = "SELECT * FROM outcome WHERE command_id = :command_id ORDER BY decided_at LIMIT :most"
OF_FLOW = """\
SELECT * FROM outcome WHERE correlation_id = :correlation_id
ORDER BY decided_at, topic, "partition", "offset" LIMIT :most"""
EVENTS_OF_FLOW = (
    f"{EVENT} WHERE correlation_id = :correlation_id ORDER BY global_position LIMIT :most"
)
OF_AGGREGATE = """\
SELECT * FROM outcome WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id
ORDER BY decided_at DESC, "offset" DESC LIMIT :most"""
PAGE_OF_AGGREGATE = f"{OF_AGGREGATE} OFFSET :offset"
VERSION_BEFORE = f"SELECT max(to_version) AS version FROM ({PAGE_OF_AGGREGATE}) AS older"
EVENTS_BETWEEN = f"""\
{EVENT} WHERE aggregate_type = :aggregate_type AND aggregate_id = :aggregate_id
AND version > :after AND version <= :version ORDER BY version LIMIT :most"""

_AMONG = f"(SELECT * FROM outcome ORDER BY decided_at DESC LIMIT {NEWEST}) AS newest"
VERDICTS = f"SELECT status, reason, count(*) AS times FROM {_AMONG} GROUP BY 1, 2 ORDER BY 3 DESC"
ARCHIVED = "SELECT max(global_position) AS archived FROM event_archive"
REFUSALS = f"""\
SELECT reason, aggregate_type, command_type, count(*) AS times, max(decided_at) AS newest_at
FROM {_AMONG} WHERE reason IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3"""
REFUSED = f"""\
SELECT refused.*, won.event_type AS winner, won.metadata
FROM (SELECT * FROM {_AMONG} WHERE reason = :reason ORDER BY decided_at DESC LIMIT :most) AS refused
LEFT JOIN event_archive AS won ON won.aggregate_type = refused.aggregate_type
AND won.aggregate_id = refused.aggregate_id AND won.version = CASE refused.reason
WHEN 'VERSION_CONFLICT' THEN CAST(refused.expected_version AS BIGINT) + 1 END
ORDER BY refused.decided_at DESC"""

JSON = ("payload", "metadata")
UNSHOWN = ("metadata", "value", "hash")


def rows(
    reader: Reader, statement: str, most: int = MOST, json: Sequence[str] = JSON, /, **asked: object
) -> list[Fields]:
    """Return the rows of a query by column, those with JSON as values on either database."""
    found = reader.select(statement, asked | ({"most": most} if ":most" in statement else {}))
    return [values(dict(zip(found.columns, row, strict=True)), json) for row in found.rows]


def some(
    reader: Reader, statement: str, most: int, json: Sequence[str] = JSON, /, **asked: object
) -> tuple[list[Fields], bool]:
    """Return so many rows at most, and whether there are more."""
    found = rows(reader, statement, most + 1, json, **asked)
    return found[:most], len(found) > most


def response(row: Mapping[str, Any]) -> Fields:
    """Return a row of `outcome` as its sender gets it, the place of its command as `source`."""
    expected = row["expected_version"]  # a number, or one of the words; the column holds texts
    place = {name: row[name] for name in ("topic", "partition", "offset")}
    return {name: value for name, value in row.items() if name not in place} | {
        "duplicate": bool(row["duplicate"]),
        "expected_version": int(expected) if str(expected).isdigit() else expected,
        "source": place,
    }


def event(application: Application, row: Fields) -> Fields:
    """Return a row of `event_archive` with what was known of its command in place of `metadata`.

    `checked`: whether it comes from its bytes, which fit their hash. A mere reader may not see
    them, and gets the other columns.
    """
    checked = row["value"] is not None
    told = row | _archived(application, row) if checked else row
    known = {name: told["metadata"][name] for name in ("command_id", "actor", "source")}
    shown = {name: one for name, one in told.items() if name not in UNSHOWN}
    return shown | known | {"checked": checked}


def _archived(application: Application, row: Fields) -> Fields:
    """Return what the bytes of an event say, because its columns may have been altered."""
    columns = (row[name] for name in ArchiveRow._fields[:-2])
    found = ArchiveRow._make([*columns, bytes(row["value"]), row["hash"]])
    record, placed = found.record(), found.positioned(catalog_of(application)[found.aggregate_type])
    if isinstance(placed.content, str):
        raise HashMismatchError(placed.content)
    told = archived_event(Delivery(*record[:3], placed.content.event, record.value))._asdict()
    said = values({name: told[name] for name in ("event_id", "event_type", *JSON)})
    return said | {"decided_at": iso_time(told["decided_at"])}


def values(row: Fields, json: Sequence[str] = JSON) -> Fields:
    """Return a row with its JSON as values, which SQLite keeps as texts."""
    texts = (name for name in json if isinstance(row.get(name), str))
    return row | {name: loads(row[name]) for name in texts}
