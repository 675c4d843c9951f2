"""What has no feed for readers to follow."""

from typing import Self

from sqlalchemy import Connection


class Feedless:
    """A projection, or what it shows of its groups, that announces nothing to anybody."""

    __slots__ = ()

    def unannounced(self) -> Self:
        """Return itself, as it has no feed."""
        return self

    def announce(self, connection: Connection, before: object, now: int) -> None:
        """Do nothing, as it has no feed."""
