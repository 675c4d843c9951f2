"""U-04: what comes is told as server-sent events, from where one was cut off."""

import asyncio
import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from starlette.testclient import TestClient

from commands.position import OpenPosition
from compose.application import app
from tests.application import APPLICATION
from tests.http.conftest import Opened
from tests.http.filled import LATE, keep
from verdict.http.sse import MOST_OPEN, Feeds, TooManyFeedsError
from verdict.settings.discovery import DATABASE
from verdict.settings.load import settings_alone
from verdict.testing import InMemory

FEED = "/feed/us_holder_change"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory in which three clients came to hold US shares."""
    folder = tmp_path_factory.mktemp("held")
    with InMemory(app) as memory:
        for client in ("ada", "bob", "cleo"):
            position = OpenPosition(client=client, ticker="AAPL", exchange="NASDAQ", amount=1)
            memory.send(f"p-{client}", position, 0)
        keep(memory, f"sqlite:///{folder / DATABASE}")
    return folder


@pytest.fixture
def followed(opened: Opened, held: Path) -> TestClient:
    return opened(data_dir=held).browser


def events(browser: TestClient, path: str, after: int = 0, **headers: str) -> list[tuple[str, Any]]:
    """Return the events of an answer, which ends after one look: their ids and data."""
    answer = browser.get(path, params={"for_s": 0, "after": after}, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    told = [one.splitlines() for one in answer.text.split("\n\n") if "data:" in one]
    fields = [dict(line.split(": ", 1) for line in lines) for lines in told]
    return [(one["id"], json.loads(one["data"])) for one in fields]


@pytest.mark.proves("U-04")
def test_a_feed_continues_where_the_connection_was_cut(followed: TestClient) -> None:
    whole = events(followed, FEED)

    assert [id for id, _ in whole] == ["1", "2", "3"]
    assert {row["client"] for _, row in whole} == {"ada", "bob", "cleo"}
    assert events(followed, FEED, 0, **{"last-event-id": "2"}) == whole[2:]
    assert events(followed, FEED, after=1) == whole[1:]


def test_what_has_no_numbers_is_no_feed(followed: TestClient) -> None:
    answer = followed.get("/feed/us_holder")

    assert answer.status_code == 404
    assert "us_holder_change" in answer.json()["detail"]


@pytest.mark.proves("U-04")
def test_the_outcome_of_a_command_is_sent_once(shown: TestClient) -> None:
    [(id, told)] = events(shown, f"/outcome/{LATE}")

    assert (id, told["reason"]) == (LATE, "VERSION_CONFLICT")
    assert events(shown, "/outcome/nobody") == []


def test_what_cannot_be_followed_is_an_error_and_no_stream(opened: Opened) -> None:
    for path in (FEED, "/outcome/nobody"):
        answer = opened().browser.get(path, params={"for_s": 0})
        assert (answer.status_code, answer.json()["title"]) == (503, "Service Unavailable")


def test_no_more_follow_than_it_can_bear(held: Path) -> None:
    feeds = Feeds(settings_alone(APPLICATION, data_dir=held), Event())

    async def follow() -> int:
        streams = [feeds._events([], list, "seq", 300, once=False) for _ in range(MOST_OPEN)]
        for one in streams:
            await anext(one)
        with pytest.raises(TooManyFeedsError, match="32 feeds are open"):
            await feeds._stream(list, "seq", 0, once=False)
        for one in streams:
            await one.aclose()  # type: ignore[attr-defined]
        return (await feeds._stream(list, "seq", 0, once=False)).status_code

    assert asyncio.run(follow()) == 200


def test_a_feed_ends_when_the_page_is_stopping(held: Path) -> None:
    stopping = Event()
    feeds = Feeds(settings_alone(APPLICATION, data_dir=held), stopping)

    async def follow() -> list[bytes]:
        stream = feeds._events([], list, "seq", 300, once=False)
        await anext(stream)
        stopping.set()
        return [one async for one in stream]

    assert asyncio.run(follow()) == []
