"""How many connections the page keeps open at once, and how long a request may take to arrive.

Neither is a setting of uvicorn: `limit_concurrency` answers 503 to everybody once too many are
open, and closes none; requests that never end have no limit.
"""

import logging
import resource
import time
from asyncio import BaseTransport, TimerHandle
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

LOG = logging.getLogger("verdict.http")
MOST = 256
SHARE = 8  # of the files that this process may open: connections take one of so many
REQUEST_S = 10.0  # for all bytes of a request, from the first one on
SAY_AGAIN_S = 60.0


class Room:
    """Decides which connection has to go when too many are open.

    Args:
        most: How many may be open at once.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._said_at: float | None = None

    def make(self, connections: set["PageConnection"]) -> None:
        """Close the connection that has been idle longest, if there are too many."""
        if len(connections) <= self.most:
            return
        min(connections, key=PageConnection.worth).end()
        now = time.monotonic()
        if self._said_at is None or now - self._said_at > SAY_AGAIN_S:
            self._said_at = now
            LOG.warning(
                "more than %s connections to the page are open: those that have been idle longest "
                "are closed",
                self.most,
            )


class PageConnection(H11Protocol):
    """One connection; it is closed when a request does not arrive in time, or for another one.

    Args:
        room: Of all connections to this page.
        more: What uvicorn gives to each protocol.
    """

    def __init__(self, room: Room, **more: Any) -> None:
        super().__init__(**more)
        self._room = room
        self._used_at = time.monotonic()
        self._due: TimerHandle | None = None

    def worth(self) -> tuple[bool, float]:
        """Return how much it is to be kept: an answer is under way, and when it was last used."""
        is_busy = self.cycle is not None and not self.cycle.response_complete
        return is_busy, self._used_at

    def end(self) -> None:
        """Close it at once, whatever was not sent yet."""
        self.connections.discard(self)
        self.transport.abort()

    def connection_made(self, transport: BaseTransport) -> None:
        """Make room for it, and begin to wait for its first request."""
        super().connection_made(cast(Any, transport))
        self._await_request()
        self._room.make(cast(set[PageConnection], self.connections))

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request, if that was not all."""
        self._used_at = time.monotonic()
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            self._await_request()
        else:
            self._forget_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._forget_request()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        if self._due is None:
            self._due = self.loop.call_later(REQUEST_S, self.end)

    def _forget_request(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None


def most_connections() -> int:
    """Return how many may be open, so that the rest of the process can still open files."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if allowed == resource.RLIM_INFINITY else min(MOST, allowed // SHARE)
