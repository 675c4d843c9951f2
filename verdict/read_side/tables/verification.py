"""What each run of `verdict verify` found, for auditors; nothing removes it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Boolean, Connection, Table, Text, cast, insert, select

from verdict.adapters.sql import sequence
from verdict.adapters.sql.column_types import InstantType, JsonType
from verdict.read_side.projections.documented_view import View, described, unless_allowed
from verdict.read_side.schema import layout
from verdict.read_side.tables.columns import metadata, optional, primary, required

table = Table(
    "verification_v1",
    metadata,
    primary("seq", BigInteger, "Counts the runs, without gaps."),
    required(
        "started_at", InstantType, "When it started: what was decided until then is verified."
    ),
    required("ended_at", InstantType, "When it ended."),
    optional("aggregate_type", Text, "The only type of aggregate that was verified; none: all."),
    optional("aggregate_id", Text, "The only aggregate of it that was verified; none: all."),
    required("clean", Boolean, "Whether it found nothing, and nothing was unavailable."),
    required("findings", BigInteger, "How many findings there were."),
    required("looked_at", Text, "What was looked at, and how many of each, as JSON."),
    required(
        "unavailable", Text, "What should be there and could not be looked at, as a JSON list."
    ),
    required("not_checked", Text, "What was left out, and why, as a JSON list."),
    required(
        "masked_first_findings",
        Text,
        "The first findings, as JSON; none unless you may see what is personal.",
    ),
)
SEQUENCE = table.name
JSON = ("looked_at", "unavailable", "not_checked", "first_findings")


class Verification(NamedTuple):
    """One run: when it was (epoch milliseconds), what of, and what came of it.

    Without an `aggregate_type` it was of all types, without an `aggregate_id` of all aggregates.
    """

    started_at: int
    ended_at: int
    aggregate_type: str | None
    aggregate_id: str | None
    clean: bool
    findings: int
    looked_at: Mapping[str, int]
    unavailable: Sequence[str]
    not_checked: Sequence[str]
    first_findings: Sequence[Mapping[str, Any]]


def exists(connection: Connection) -> bool:
    """Return whether a start of `verdict up` has made the table already."""
    return layout.has_table(connection, table.name)


def record(connection: Connection, run: Verification) -> None:
    """Write a run down."""
    (seq,) = sequence.take_numbers(connection, SEQUENCE, 1)
    texts = {name: json.dumps(getattr(run, name), ensure_ascii=False) for name in JSON}
    row = run._asdict() | texts | {"seq": seq}
    row["masked_first_findings"] = row.pop("first_findings")
    connection.execute(insert(table).values(row))


def _view() -> View:
    columns = table.c
    shown = {name: cast(columns[name], JsonType).label(name) for name in JSON[:-1]}
    masked = columns.masked_first_findings
    first = unless_allowed(cast(masked, JsonType), masked).label(JSON[-1])
    plain = [column for column in columns if column is not masked]
    comments = {name: columns[name].comment or "" for name in shown}
    return described(
        select(*(shown.get(one.name, one) for one in plain), first),
        "Runs of `verdict verify`, and what each found; nothing removes it.",
        **comments,
        first_findings=masked.comment or "",
    )


VIEWS: Mapping[str, View] = {"verification": _view()}
