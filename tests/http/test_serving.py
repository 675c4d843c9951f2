"""Where the page is served, start after start, and how many connections it keeps."""

import asyncio
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi import FastAPI

from tests.application import APPLICATION
from verdict.http import serving as module
from verdict.http.serving import Serving
from verdict.http.sse import Streams
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings

MOST = 20
POST = b"POST /token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n"
LONG_S = 60  # nothing here takes so long unless it hangs


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_alone(APPLICATION, data_dir=tmp_path)


def port_of(serving: Serving) -> int:
    return urlsplit(serving.url).port or 0


def test_the_next_start_listens_where_the_last_one_did_unless_that_is_taken(
    settings: Settings,
) -> None:
    with Serving(settings) as serving:
        serving.keep_port()
        first = port_of(serving)

    with Serving(settings) as again:
        assert port_of(again) == first
    with socket.create_server(("127.0.0.1", first)), Serving(settings) as other:
        assert port_of(other) not in (0, first)


@pytest.mark.parametrize("noted", ["", "far too long", "-1", "70000", "9" * 30])
def test_what_is_no_port_is_not_used(tmp_path: Path, settings: Settings, noted: str) -> None:
    (tmp_path / "page.port").write_text(noted)
    with Serving(settings) as serving:
        assert port_of(serving)


@pytest.mark.process
def test_a_request_that_is_under_way_at_the_end_is_counted_without_a_traceback(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    page, asked = FastAPI(), threading.Event()
    page.state.streams = Streams()

    @page.get("/")
    async def never() -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "page_of", lambda settings, with_service: page)
    monkeypatch.setattr(module, "STOP_S", 1.0)
    with (
        Serving(settings) as serving,
        socket.create_connection(("127.0.0.1", port_of(serving))) as client,
    ):
        client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert asked.wait(LONG_S)
        serving.stop()
        serving._thread.join(LONG_S)

    assert "Cancel 1 running task(s)" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.fixture
def crowded(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a page that keeps few connections."""
    monkeypatch.setattr(module, "MOST", MOST)
    with Serving(settings) as serving:
        yield serving.url


@pytest.fixture
def connect(crowded: str) -> Iterator[Callable[[], socket.socket]]:
    """Open connections until the end of a test."""
    address = ("127.0.0.1", urlsplit(crowded).port)
    with ExitStack() as held:
        yield lambda: held.enter_context(socket.create_connection(address, LONG_S))


def ends(made: socket.socket) -> bool:
    """Return whether the page closes a connection without an answer."""
    try:
        return made.recv(1) == b""
    except ConnectionError:
        return True


def test_idle_connections_are_closed_for_those_that_come_later(
    crowded: str, connect: Callable[[], socket.socket], caplog: pytest.LogCaptureFixture
) -> None:
    idle = [connect() for _ in range(15 * MOST)]

    for _ in range(3):
        assert httpx2.get(f"{crowded}livez").status_code == 200

    assert all(ends(one) for one in idle[:-MOST])
    assert [one.message for one in caplog.records] == [
        f"more than {MOST} connections to the page are open: those that have been idle longest "
        "are closed"
    ]


def test_a_connection_with_a_request_is_kept_longer_than_idle_ones(
    crowded: str, connect: Callable[[], socket.socket]
) -> None:
    sending = connect()
    sending.sendall(POST + b"expect: 100-continue\r\n\r\n")
    assert b"100 Continue" in sending.recv(100)
    for _ in range(2 * MOST):
        connect()
    assert httpx2.get(f"{crowded}livez").status_code == 200

    sending.sendall(b"x" * 100)

    assert b"HTTP/1.1 303" in sending.recv(100)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("sent", [b"", b"GET /livez HT", POST + b"\r\nx"])
def test_a_request_that_does_not_arrive_in_time_ends_its_connection(
    crowded: str,
    connect: Callable[[], socket.socket],
    sent: bytes,
    first: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if first:
        monkeypatch.setattr(module, "REQUEST_S", 0.01)
    slow = connect()
    if not first:
        slow.sendall(b"GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        while b'"live"' not in slow.recv(10_000):
            pass
        monkeypatch.setattr(module, "REQUEST_S", 0.01)
    slow.sendall(sent or b"G")

    while not ends(slow):
        pass


def test_a_share_of_the_files_of_a_process_is_for_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for allowed in (1024, 65_536, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, n=allowed: (n, n))
        found.append(module.most_connections())

    assert found == [128, 256, 256]
