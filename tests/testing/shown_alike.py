"""What two read sides show of one log, whatever the batches in which it came to them."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from verdict.application import current
from verdict.projection.declared import projections
from verdict.projection.processor_tables import readable

Select = Callable[[str], list[dict[str, Any]]]

# of the views that differ by how partitions interleave, by batches, or by who runs; and columns
OTHERWISE = {"projection_position", "us_holder_change", "followed_topic"}
PLACES = {"id", "offset"}  # of what a service writes: Kafka's own records lie between
COLUMNS: Mapping[str, set[str]] = {
    "event_archive": {"global_position", "offset"},
    "letter": {*PLACES, "due_at", "received_at"},
    "projection_held": {"found_at"},
    **{f"{kind}_state": {"global_position"} for kind in current().aggregate_types},
}


def views(select: Select) -> dict[str, Counter[str]]:
    """Return the rows of every view that must not depend on more than the log."""
    compared = [view for view in readable(projections()) if view not in OTHERWISE]
    return {
        view: _rows(select(f"SELECT * FROM {view}"), COLUMNS.get(view, set())) for view in compared
    }


def _rows(rows: list[dict[str, Any]], without: set[str]) -> Counter[str]:
    return Counter(
        repr({name: value for name, value in row.items() if name not in without}) for row in rows
    )
