"""The page's connections, by real sockets: so many at once, and no request that never ends."""

import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.application import APPLICATION
from verdict.http import serving as module
from verdict.http.serving import Serving
from verdict.settings.load import settings_alone

MOST = 20
LIVEZ = b"GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
POST = b"POST /token HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n"
HALF_BODY = POST + b"\r\nx"
LONG_S = 60  # nothing here takes so long unless it hangs


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A page that is served."""
    monkeypatch.setattr(module, "MOST", MOST)
    with Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as serving:
        yield serving.url


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """What holds connections until the end of a test."""
    with ExitStack() as held:
        yield held


def connect(url: str, opened: ExitStack) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", urlsplit(url).port), LONG_S)
    return opened.enter_context(made)


def ends(made: socket.socket) -> bool:
    """Return whether the page closes a connection without an answer."""
    try:
        return made.recv(1) == b""
    except ConnectionError:
        return True


def test_idle_connections_are_closed_for_those_that_come_later(
    url: str, opened: ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    idle = [connect(url, opened) for _ in range(15 * MOST)]

    for _ in range(3):
        assert httpx2.get(f"{url}livez").status_code == 200

    assert all(ends(one) for one in idle[:-MOST])
    assert [one.message for one in caplog.records] == [
        f"more than {MOST} connections to the page are open: those that have been idle longest "
        "are closed"
    ]


def test_a_connection_with_a_request_is_kept_longer_than_idle_ones(
    url: str, opened: ExitStack
) -> None:
    sending = connect(url, opened)
    sending.sendall(POST + b"expect: 100-continue\r\n\r\n")
    assert b"100 Continue" in sending.recv(100)
    for _ in range(2 * MOST):
        connect(url, opened)
    assert httpx2.get(f"{url}livez").status_code == 200

    sending.sendall(b"x" * 100)

    assert b"HTTP/1.1 303" in sending.recv(100)


@pytest.mark.parametrize("sent", [b"", b"GET /livez HT", HALF_BODY])
def test_a_request_that_does_not_arrive_in_time_ends_its_connection(
    url: str,
    sent: bytes,
    opened: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "REQUEST_S", 0.01)
    slow = connect(url, opened)
    slow.sendall(sent)

    while not ends(slow):
        pass

    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_a_second_request_has_no_more_time_than_the_first(
    url: str, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = connect(url, opened)
    slow.sendall(LIVEZ)
    while b'"live"' not in slow.recv(10_000):
        pass
    monkeypatch.setattr(module, "REQUEST_S", 0.01)

    slow.sendall(b"GET /livez HT")

    assert ends(slow)


def test_a_share_of_the_files_of_a_process_is_for_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for allowed in (1024, 65_536, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _, n=allowed: (n, n))
        found.append(module.most_connections())

    assert found == [128, 256, 256]
