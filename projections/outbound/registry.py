"""Which notifications there are. An installed package adds its own by an entry point.

The entry's group is `verdict.notifications`, its value a `Notification`.
"""

from importlib.metadata import entry_points

from projections.outbound.loyalty_notification import loyalty_notification
from projections.outbound.shipment import shipment
from verdict.wire.notification import Notification

ENTRY_POINTS = "verdict.notifications"


def notifications() -> tuple[Notification, ...]:
    """Return all notifications, this distribution's first."""
    installed = (entry.load() for entry in entry_points(group=ENTRY_POINTS))
    return (shipment, loyalty_notification, *installed)
