"""What the author of a projection imports, besides `verdict` itself.

Declaring a projection loads no database. A name that needs SQLAlchemy is loaded when it is asked
for: `RowProjection`, `row_table`, `version_view`, `described` and `InstantType` for a
`TableProjection` with tables of its own, `Outbox` and `as_of` for what leaves the database.
"""

from typing import TYPE_CHECKING

from typing_extensions import Doc

from verdict.lazy_imports import load_lazily
from verdict.model.groups import Groups, any_of, count, key, maximum, minimum, total
from verdict.model.projection import TableProjection, projection
from verdict.model.rows import Latest, NoRowError, Rows, there

if TYPE_CHECKING:
    from verdict.adapters.sql.column_types import InstantType
    from verdict.reactions.outbox import (
        DeliveryCounts,
        DeliveryDeferredError,
        DeliveryRefusedError,
        Outbox,
        OutboxMessage,
        open_outbox,
    )
    from verdict.read_side.as_of.materialiser import as_of
    from verdict.read_side.projections.documented_view import described
    from verdict.read_side.projections.row_projection import RowProjection, version_view
    from verdict.read_side.projections.row_source import EventSource
    from verdict.read_side.projections.stored_rows import row_table

__all__ = [
    "DeliveryCounts", "DeliveryDeferredError", "DeliveryRefusedError", "Doc", "EventSource",
    "Groups", "InstantType", "Latest", "NoRowError", "Outbox", "OutboxMessage", "RowProjection",
    "Rows", "TableProjection", "any_of", "as_of", "count", "described", "key", "maximum",
    "minimum", "open_outbox", "projection", "row_table", "there", "total", "version_view",
]  # fmt: skip

if not TYPE_CHECKING:  # it reads the imports above
    __getattr__, __dir__ = load_lazily(__name__)
