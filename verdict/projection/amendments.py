"""What people decided that changes how a projection takes events."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection

from verdict.projection import intervention, lost
from verdict.projection.intervention import Amendments
from verdict.projection.lost import Lost


class Changed(NamedTuple):
    """What is taken in the place of events, and which aggregates are lost up to which version."""

    instead: Amendments
    lost: Lost

    def __bool__(self) -> bool:
        return bool(self.instead or self.lost)


def in_force(connection: Connection, name: str, topics: Collection[str]) -> Changed:
    """Return what counts for the projection `name`, which follows `topics`."""
    return Changed(intervention.in_force(connection, name), lost.load(connection, topics))
