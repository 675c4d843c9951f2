"""The page for auditors: runs of `verdict verify`, and what operators did."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from verdict.http.lists import ROWS
from verdict.http.site import Context
from verdict.model.message import LARGEST
from verdict.operations.inspect.queries import rows, some
from verdict.read_side.tables.verification import JSON

RUNS = 20  # of `verdict verify`
VERIFIED = "SELECT * FROM verification ORDER BY seq DESC LIMIT :most"

INTERVENTIONS = {  # by the view that one must be allowed to read
    "skipped_record": """\
SELECT decided_at AS at, operator AS who,
CASE kind WHEN 'SKIPPED' THEN 'skip' ELSE lower(kind) END AS kind,
topic || ':' || "partition" || ':' || "offset" || '-' || until_offset AS about,
reason AS why FROM skipped_record""",
    "aggregate_quarantined": """\
SELECT decided_at AS at, operator AS who, 'quarantine' AS kind,
aggregate_type || ' ' || aggregate_id || ' from version ' || version AS about, reason AS why
FROM aggregate_quarantined""",
    "projection_intervention": """\
SELECT at, operator AS who, kind, projection || ' v' || version || ': ' || aggregate_type || ' ' ||
aggregate_id || ' version ' || event_version AS about, reason AS why
FROM projection_intervention""",
    "dead_letter_intervention": """\
SELECT at, operator AS who, kind, 'dead letter ' || dead_letter_id AS about, reason AS why
FROM dead_letter_intervention""",
}
router = APIRouter(include_in_schema=False)


@router.get("/audit")
def audit(context: Context, page: Annotated[int, Query(ge=0, le=LARGEST // ROWS)] = 0) -> Response:
    """List runs of `verdict verify`, and all interventions that the sender may see."""
    with context.reader() as reader:
        runs = rows(reader, VERIFIED, RUNS, JSON)
        allowed = [name for name in INTERVENTIONS if name in reader.views]
        every = " UNION ALL ".join(INTERVENTIONS[name] for name in allowed)
        statement = f"{every} ORDER BY at DESC, about LIMIT :most OFFSET :offset"
        found, more = some(reader, statement, ROWS, offset=page * ROWS)
    values = {
        "runs": runs,
        "found": found,
        "closed": sorted({*INTERVENTIONS} - {*allowed}),
        "page": page,
        "next": page + 1 if more else None,
    }
    return context.show("audit", values)
