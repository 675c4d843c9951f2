"""Serves the page in a thread, with a limit of connections and of the time for a request."""

import asyncio
import logging
import resource
import socket
import threading
import time
from asyncio import BaseTransport, TimerHandle
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from verdict.errors import VerdictError
from verdict.http.application import page_of
from verdict.settings.settings import Settings

PORTS = range(1, 65_536)
PORT = "page.port"  # in the data directory
QUEUE = 128  # connections that wait to be accepted
STOP_S = 3.0  # for current requests
LOG = logging.getLogger("verdict.http")
MOST = 256
SHARE = 8  # connections take at most one of so many files that this process may open
REQUEST_S = 10.0  # for all bytes of a request, from the first one on
WARN_AGAIN_S = 60.0


# uvicorn's `limit_concurrency` answers 503 when too many connections are open, and closes none
class ConnectionLimit:
    """Closes idle connections when more than `most` are open."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._warned_at: float | None = None

    def apply(self, connections: set["PageConnection"]) -> None:
        """Close the connection that has been idle longest, if there are too many."""
        if len(connections) <= self.most:
            return
        min(connections, key=PageConnection.worth).end()
        now = time.monotonic()
        if self._warned_at is None or now - self._warned_at > WARN_AGAIN_S:
            self._warned_at = now
            LOG.warning(
                "more than %s connections to the page are open: those that have been idle longest "
                "are closed",
                self.most,
            )


class PageConnection(H11Protocol):
    """A connection; it is closed when a request does not arrive in time, or for another one."""

    def __init__(self, limit: ConnectionLimit, **more: Any) -> None:
        super().__init__(**more)
        self._limit = limit
        self._used_at = time.monotonic()
        self._due: TimerHandle | None = None

    def worth(self) -> tuple[bool, float]:
        """Return what orders connections: whether a response is not complete, and the last use."""
        is_busy = self.cycle is not None and not self.cycle.response_complete
        return is_busy, self._used_at

    def end(self) -> None:
        """Close it at once."""
        self.connections.discard(self)
        self.transport.abort()

    def connection_made(self, transport: BaseTransport) -> None:
        """Close another connection if there are too many, and wait for the first request."""
        super().connection_made(cast(Any, transport))
        self._await_request()
        self._limit.apply(cast(set[PageConnection], self.connections))

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request, if that was not all."""
        self._used_at = time.monotonic()
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            self._await_request()
        else:
            self._forget_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
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
    """Return the limit: the rest of the process must be able to open files, too."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if allowed == resource.RLIM_INFINITY else min(MOST, allowed // SHARE)


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(QUEUE)


class Serving:
    """The page of a deployment, served inside the block; `with_service`: next to its service.

    Raises:
        VerdictError: It cannot listen there.
    """

    def __init__(self, settings: Settings, with_service: bool = False) -> None:
        self._port_file = settings.data_dir / PORT
        self._socket = _former_socket(settings, self._port_file) or _listening(settings)
        self._page = page_of(settings, with_service=with_service)
        config = uvicorn.Config(
            self._page,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(STOP_S),
            http=cast(Any, partial(PageConnection, ConnectionLimit(most_connections()))),
            backlog=1,  # asyncio accepts so many at once, and fails as often when files are short
        )
        logging.getLogger("uvicorn.error").addFilter(_not_cancelled)
        self._server = _Server(config)
        # a process that has to exit does not wait for it
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="page", daemon=True
        )

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host, port, *_ = self._socket.getsockname()
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"

    def keep_port(self) -> None:
        """Let the next start on this data directory listen on the same port."""
        with suppress(OSError):  # a full disk: it will be another port
            self._port_file.write_text(f"{self._socket.getsockname()[1]}\n")

    def __enter__(self) -> "Serving":
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop to serve; a second call changes nothing."""
        self._page.state.streams.stopping.set()
        self._server.should_exit = True
        self._thread.join(STOP_S)
        self._socket.close()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _not_cancelled(record: logging.LogRecord) -> bool:
    """Drop the traceback of a request that the end of the page cut off: uvicorn counts them."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def _former_socket(settings: Settings, port_file: Path) -> socket.socket | None:
    if settings.page_port == 0:
        with suppress(OSError, ValueError):  # then any free port
            port = int(port_file.read_text())
            return _bound(settings.page_host, port) if port in PORTS else None
    return None


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _listening(settings: Settings) -> socket.socket:
    host, port = settings.page_host, settings.page_port
    try:
        return _bound(host, port)
    except OSError as error:
        raise VerdictError(
            f"the page cannot listen on {host} port {port} ({error}): set page_port to another "
            "port, or to 0 for any free one, or page to false"
        ) from error
