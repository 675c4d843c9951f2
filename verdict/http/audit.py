"""What auditors ask for: when everything was verified last, and what people decided."""

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response

from verdict.http.pages import Pages
from verdict.model.message import LARGEST
from verdict.operations.inspect.queries import some
from verdict.read_side.tables.verification import JSON

HERE = "/audit"
RUNS, ROWS = 20, 50  # of verify, and of interventions

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

Page = Annotated[int, Query(ge=0, le=LARGEST // ROWS)]


def add_audit(page: FastAPI, pages: Pages) -> None:
    """Let auditors see."""

    def audit(request: Request, page: Page = 0) -> Response:
        with pages.reader(request) as reader:
            runs, _ = some(reader, VERIFIED, RUNS, JSON)
            shown = [name for name in INTERVENTIONS if name in reader.views]
            every = " UNION ALL ".join(INTERVENTIONS[name] for name in shown)
            statement = f"{every} ORDER BY at DESC, about LIMIT :most OFFSET :offset"
            found, more = some(reader, statement, ROWS, offset=page * ROWS)
        told = {
            "runs": runs,
            "found": found,
            "closed": sorted({*INTERVENTIONS} - {*shown}),
            "page": page,
            "next": page + 1 if more else None,
        }
        return pages.shown(request, "audit", told)

    page.add_api_route(HERE, audit, include_in_schema=False)
