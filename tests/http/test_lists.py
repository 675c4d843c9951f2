"""Lists of commands, events and aggregates."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.http.conftest import BEARER, TOKEN, Opened, text
from tests.http.filled import altered


def test_filters_are_kept_and_narrow_a_list(shown: TestClient) -> None:
    page = shown.get("/commands?outcome=BUSINESS_RULE&actor=ada").text

    assert "BUSINESS_RULE OVERFILL FillOrder order o-1 ada cannot fill 99" in text(page)
    assert page.count('href="/explain') == 1
    assert 'name="outcome" value="BUSINESS_RULE"' in page
    assert "No event matches." in text(shown.get("/events?event_type=Never").text)
    assert "No aggregate has this id or a later one." in text(
        shown.get("/aggregates?type=order&start=z").text
    )


@pytest.mark.parametrize("path", ["/commands?since=soon", "/events?start=x", "/commands?start=a/b"])
def test_what_is_no_filter_is_said(shown: TestClient, path: str) -> None:
    answer = shown.get(path, headers={"accept": "text/html"})

    assert answer.status_code == 400
    assert ("2026-11-21T12:00" if "soon" in path else "follow the links") in text(answer.text)


@pytest.mark.parametrize(
    ("time", "found"), [("2026-01-01", 7), ("2026-01-01T00:00-05:00", 7), ("2100-01-01 00:00", 0)]
)
def test_a_time_without_a_zone_is_utc(shown: TestClient, time: str, found: int) -> None:
    page = text(shown.get("/events", params={"since": time}).text)
    assert page.count(" version ") == found


def test_an_altered_event_is_marked_and_the_others_are_listed(
    opened: Opened, filled: Path, tmp_path: Path
) -> None:
    forged = "UPDATE event_archive_v1 SET value = x'00' WHERE aggregate_id = 'o-1'"
    browser = opened(data_dir=altered(tmp_path, forged, of=filled), page_token=TOKEN).browser

    page = browser.get("/events", headers=BEARER).text
    assert page.count('class="chip red tone" title="') == text(page).count(" altered ") == 2
    assert "InvoiceRecorded" in text(page)
