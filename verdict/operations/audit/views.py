"""The views that readers read, against what this version of verdict makes of them."""

from collections.abc import Iterator, Mapping

from sqlalchemy import Connection

from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.read_side.projections.described import View
from verdict.read_side.schema.layout import shown_by, would_show


def altered(
    connection: Connection, views: Mapping[str, View], looked: CheckResult
) -> Iterator[Finding]:
    """Yield the views that are missing, or show something else."""
    for name, view in views.items():
        looked.at["views"] += 1
        found = shown_by(connection, name)
        if found is None:
            yield _finding(f"the view {name} is missing: the next start of `verdict up` makes it")
        elif found != would_show(connection, name, view):
            yield _finding(
                f"the view {name} does not show what this version of verdict lets it show: "
                "somebody has replaced it, or another version made it; drop it, and the next start "
                f"of `verdict up` makes it anew; it is {' '.join(found.split())}"
            )


def _finding(what: str) -> Finding:
    return Finding(check=Check.PROJECTIONS, what=what)
