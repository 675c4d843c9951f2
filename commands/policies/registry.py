"""Which policies there are. An installed package adds its own by an entry point.

The entry's group is `verdict.policies`, its value a `Policy`.
"""

from decimal import Decimal
from importlib.metadata import entry_points

from commands.policies.award_points import FACTOR, award_points
from verdict.model.policy import Policy

ENTRY_POINTS = "verdict.policies"


def policies(loyalty_factor: Decimal = FACTOR) -> tuple[Policy, ...]:
    """Return all policies, this distribution's first.

    Args:
        loyalty_factor: Points for each unit of money.

    Raises:
        ValueError: Two have the same name, so their command ids would be the same.
    """
    installed = [entry.load() for entry in entry_points(group=ENTRY_POINTS)]
    every = (award_points(loyalty_factor), *installed)
    names = [policy.name for policy in every]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"policies {sorted(twice)} are there twice: give yours another name")
    return every
