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

# type checkers read what is above, Python loads what it is asked for from here; a test compares
HOMES = {
    "verdict.reactions.outbox": "DeliveryCounts DeliveryDeferredError DeliveryRefusedError Outbox"
    " OutboxMessage open_outbox",
    "verdict.read_models.as_of.materialiser": "as_of",
}
_HOME_OF = {name: home for home, names in HOMES.items() for name in names.split()}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME_OF[name]), name)
