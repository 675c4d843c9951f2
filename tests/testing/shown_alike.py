"""What two read sides show of one log, whatever the batches in which it came to them."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.application import APPLICATION
from verdict.read_side.catalog import projections
from verdict.read_side.schema.system_views import readable

Select = Callable[[str], list[dict[str, Any]]]

OTHERWISE = {
    "projection_position": "offsets of what a service writes: Kafka's own records lie between",
    "us_holder_change": "the order in which events of several partitions arrive",
    "source_topic": "ids that Kafka gives its topics",
}
COLUMNS: Mapping[str, set[str]] = {
    "event_archive": {"global_position", "offset"},  # the order of arrival; as above
    # its place follows from its own, where one without a key has any partition; when it came
    "dead_letter": {"id", "partition", "offset", "due_at", "received_at"},
    "projection_blocked": {"found_at"},  # when
    **{f"{kind}_state": {"global_position"} for kind in APPLICATION.aggregate_types},
}
OF_AN_EVENT = re.compile(r"(\.events:\d+):\d+")  # an offset in the error of a letter


def views(select: Select) -> dict[str, Counter[str]]:
    """Return the rows of every view that must not depend on more than the log."""
    compared = [view for view in readable(projections(APPLICATION)) if view not in OTHERWISE]
    return {
        view: _rows(select(f"SELECT * FROM {view}"), COLUMNS.get(view, set())) for view in compared
    }


def _rows(rows: list[dict[str, Any]], without: set[str]) -> Counter[str]:
    return Counter(
        OF_AN_EVENT.sub(
            r"\1", repr({name: value for name, value in row.items() if name not in without})
        )
        for row in rows
    )
