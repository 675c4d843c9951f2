"""What the projections of an application import of verdict, besides `verdict` itself.

A name is loaded when it is asked for: an application that only declares its parts loads no SQL.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdict.reactions.outbox import (
        DeliveryCounts,
        DeliveryDeferredError,
        DeliveryRefusedError,
        Outbox,
        OutboxMessage,
        open_outbox,
    )
    from verdict.read_models.as_of.materialiser import as_of

__all__ = [
    "DeliveryCounts", "DeliveryDeferredError", "DeliveryRefusedError", "Outbox", "OutboxMessage",
    "as_of", "open_outbox",
]  # fmt: skip

OUTBOX = "verdict.reactions.outbox"
WITH_SQL = {
    "DeliveryCounts": OUTBOX,
    "DeliveryDeferredError": OUTBOX,
    "DeliveryRefusedError": OUTBOX,
    "Outbox": OUTBOX,
    "OutboxMessage": OUTBOX,
    "as_of": "verdict.read_models.as_of.materialiser",
    "open_outbox": OUTBOX,
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in WITH_SQL:
            raise AttributeError(f"module 'verdict.projections' has no attribute {name!r}")
        return getattr(import_module(WITH_SQL[name]), name)
