"""What the author of a projection imports; it loads no database.

What has tables of its own, a `TableProjection`, is made of `RowProjection`, `row_table`,
`version_view`, `described` and `InstantType`, which load SQLAlchemy when they are asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from typing_extensions import Doc

from verdict.model.groups import Groups, any_of, count, key, maximum, minimum, total
from verdict.model.latest import Latest
from verdict.model.projection import TableProjection, projection
from verdict.model.rows import NoRowError, Rows, there

if TYPE_CHECKING:
    from verdict.database.instant import InstantType
    from verdict.projection.described import described
    from verdict.projection.row_projection import RowProjection, version_view
    from verdict.projection.row_source import EventSource
    from verdict.projection.stored_rows import row_table

__all__ = [
    "Doc", "EventSource", "Groups", "InstantType", "Latest", "NoRowError", "RowProjection", "Rows",
    "TableProjection", "any_of", "count", "described", "key", "maximum", "minimum", "projection",
    "row_table", "there", "total", "version_view",
]  # fmt: skip

WITH_SQL = {
    "EventSource": "verdict.projection.row_source",
    "InstantType": "verdict.database.instant",
    "RowProjection": "verdict.projection.row_projection",
    "described": "verdict.projection.described",
    "row_table": "verdict.projection.stored_rows",
    "version_view": "verdict.projection.row_projection",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in WITH_SQL:
            raise AttributeError(f"module 'verdict.projections' has no attribute {name!r}")
        return getattr(import_module(WITH_SQL[name]), name)
