"""Where the page is found: at one URL, start after start."""

import asyncio
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI

from tests.application import APPLICATION
from verdict.http import serving as module
from verdict.http.serving import Serving
from verdict.settings.load import settings_alone


def port_of(serving: Serving) -> int | None:
    return urlsplit(serving.url).port


@pytest.fixture
def first(tmp_path: Path) -> int | None:
    """Return the port of a start that has come to its end."""
    with Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as serving:
        serving.keep_port()
        return port_of(serving)


def test_the_next_start_listens_where_the_last_one_did(tmp_path: Path, first: int) -> None:
    with Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as again:
        assert port_of(again) == first


def test_another_port_is_found_when_somebody_has_taken_it(tmp_path: Path, first: int) -> None:
    settings = settings_alone(APPLICATION, data_dir=tmp_path)
    with socket.create_server(("127.0.0.1", first)), Serving(settings) as again:
        assert port_of(again) not in (None, first)


@pytest.mark.parametrize("noted", ["", "far too long", "-1", "70000", "9" * 30])
def test_what_is_no_port_is_passed_over(tmp_path: Path, noted: str) -> None:
    (tmp_path / "page.port").write_text(noted)
    with Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as serving:
        assert port_of(serving)


@pytest.mark.process
def test_a_request_that_is_under_way_at_the_end_is_counted_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    page, asked = FastAPI(), threading.Event()
    page.state.stopping = threading.Event()

    @page.get("/")
    async def never() -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "page_of", lambda settings, with_service: page)
    monkeypatch.setattr(module, "STOP_S", 1.0)
    with (
        Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as serving,
        socket.create_connection(("127.0.0.1", port_of(serving) or 0)) as client,
    ):
        client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert asked.wait(60)
        serving.stop()
        serving._thread.join(60)

    assert "Cancel 1 running task(s)" in caplog.text
    assert "Traceback" not in caplog.text
