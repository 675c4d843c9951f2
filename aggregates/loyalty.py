"""The rules of a loyalty account: points add up, over all stores, in the order of their awards."""

from commands.loyalty import LoyaltyCommand
from schemas.loyalty import Hundredths, LoyaltyEvent, PointsAwarded
from verdict import Aggregate, Message, Refused
from verdict.model import LARGEST


class Loyalty(Message):
    """What the rules need to know of an account."""

    total_points_hundredths: Hundredths


def decide(loyalty: Loyalty | None, command: LoyaltyCommand) -> list[LoyaltyEvent]:
    """Return the event that `command` causes.

    Raises:
        Refused: The total would be more than can be stored.
    """
    before = 0 if loyalty is None else loyalty.total_points_hundredths
    total = before + command.points_hundredths
    if total > LARGEST:
        raise Refused(
            "TOO_MANY_POINTS",
            f"{command.points_hundredths} hundredths on top of {before} are more than {LARGEST}",
            points_hundredths=command.points_hundredths,
            total_points_hundredths=before,
        )
    return [PointsAwarded(**dict(command), total_points_hundredths=total)]


def evolve(loyalty: Loyalty | None, event: LoyaltyEvent) -> Loyalty | None:
    """Return the account after `event`."""
    return Loyalty(total_points_hundredths=event.total_points_hundredths)


loyalty = Aggregate(
    "loyalty", Loyalty, decide, evolve, commands=LoyaltyCommand, events=LoyaltyEvent
)
