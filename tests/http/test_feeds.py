"""U-04: what comes is told as server-sent events, from where one was cut off."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commands.position import OpenPosition
from compose.application import app
from tests.http.conftest import Opened
from tests.http.filled import LATE, keep
from verdict.http.sse import MOST_OPEN, Streams, TooManyFeedsError
from verdict.settings.discovery import DATABASE
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
    no_numbers = followed.get("/feed/us_holder")
    assert no_numbers.status_code == 404
    assert "us_holder_change" in no_numbers.json()["detail"]


@pytest.mark.proves("U-04")
def test_the_outcome_of_a_command_is_sent_once(shown: TestClient) -> None:
    [(id, told)] = events(shown, f"/outcome/{LATE}")

    assert (id, told["reason"]) == (LATE, "VERSION_CONFLICT")
    assert events(shown, "/outcome/nobody") == []


def test_what_cannot_be_followed_is_an_error_and_no_stream(opened: Opened) -> None:
    for path in (FEED, "/outcome/nobody"):
        answer = opened().browser.get(path, params={"for_s": 0})
        assert (answer.status_code, answer.json()["title"]) == (503, "Service Unavailable")


def test_no_more_follow_than_it_can_bear_and_none_while_it_is_stopping() -> None:
    streams = Streams()

    async def follow() -> list[bytes]:
        followed = [streams.events([], list, "seq", 300, once=False) for _ in range(MOST_OPEN)]
        for one in followed:
            await anext(one)
        with pytest.raises(TooManyFeedsError, match="32 feeds are open"):
            await streams.respond(list, "seq", 0, once=False)
        streams.stopping.set()
        rest = [event for one in followed async for event in one]
        assert (await streams.respond(list, "seq", 0, once=False)).status_code == 200
        return rest

    assert asyncio.run(follow()) == []
