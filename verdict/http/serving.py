"""Serves the page in a thread, on a socket that is there before anything else is."""

import asyncio
import logging
import socket
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvicorn

from verdict.errors import VerdictError
from verdict.http.application import page_of
from verdict.http.connections import PageConnection, Room, most_connections
from verdict.settings.settings import Settings

PORTS = range(1, 65_536)
PORT = "page.port"  # in the data directory
QUEUE = 128  # connections that wait to be accepted
STOP_S = 3.0  # for answers under way


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(QUEUE)


class Serving:
    """A page that answers inside the block.

    Args:
        settings: Where, and of which deployment.
        beside: Whether the service of the deployment runs in this process.

    Raises:
        VerdictError: It cannot listen there.
    """

    def __init__(self, settings: Settings, beside: bool = False) -> None:
        self._noted = settings.data_dir / PORT
        self._socket = _where_it_was(settings, self._noted) or _listening(settings)
        self._page = page_of(settings, beside=beside)
        config = uvicorn.Config(
            self._page,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(STOP_S),
            http=cast(Any, partial(PageConnection, Room(most_connections()))),
            backlog=1,  # asyncio accepts so many at once, and fails as often when files run short
        )
        logging.getLogger("uvicorn.error").addFilter(_not_cancelled)
        self._server = _Server(config)
        # whoever ends the process at once does not wait for a page
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="page", daemon=True
        )

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host, port, *_ = self._socket.getsockname()
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
        return (
            f"http://{f'[{shown}]' if shown.count(':') > 1 and shown[0] != '[' else shown}:{port}/"
        )

    def stay(self) -> None:
        """Let the next start on this data directory, which is ours, listen on the same port."""
        with suppress(OSError):  # a full disk: it will be another port then
            self._noted.write_text(f"{self._socket.getsockname()[1]}\n")

    def __enter__(self) -> "Serving":
        self._thread.start()
        return self

    def stop(self) -> None:
        """Answer nobody any more, and close the clients that the page has; again is no fault."""
        self._page.state.stopping.set()
        self._server.should_exit = True
        self._thread.join(STOP_S)
        self._socket.close()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _not_cancelled(record: logging.LogRecord) -> bool:
    """Log no traceback of a request that the end of the page cut off: one line counts them."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def _where_it_was(settings: Settings, noted: Path) -> socket.socket | None:
    if settings.page_port == 0:
        with suppress(OSError, ValueError):  # then on any that is free
            port = int(noted.read_text())
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
            f"the page cannot listen on {host} port {port} ({error}): set page_port to another, or "
            "0 for any that is free, or page to false"
        ) from error
