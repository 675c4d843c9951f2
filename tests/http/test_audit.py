"""Auditors see when everything was verified, what was found, and what people decided."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.application import APPLICATION
from tests.http.conftest import BEARER, TOKEN, Opened, text
from verdict.operations.audit.finding import CheckResult, record, run_of
from verdict.settings.discovery import DATABASE
from verdict.settings.load import settings_alone

AT = "2026-11-21T12:00:0{}.000Z"
DECIDED = f"""
INSERT INTO skipped_record_v1
(topic, "partition", "offset", until_offset, operator, kind, reason, decided_at)
VALUES ('order.events', 0, 5, 6, 'ada', 'SKIPPED', 'torn', '{AT.format(1)}');
INSERT INTO dead_letter_intervention_v1
(dead_letter_id, number, kind, operator, reason, at, sha256)
VALUES ('a-parked-letter', 1, 'edit', 'bob', 'typo', '{AT.format(2)}', '00');
INSERT INTO projection_intervention_v1
(seq, version, event_version, kind, operator, at, projection, aggregate_type, aggregate_id)
VALUES (1, 1, 2, 'replay', 'cleo', '{AT.format(3)}', 'us_holder', 'position', 'p-7');
"""
FINDING: dict[str, object] = {"check": "projections", "what": "cashier is 'secret-ada'"}


def test_a_run_of_verify_is_shown_and_what_it_quotes_needs_the_token(
    opened: Opened, filled: Path, tmp_path: Path
) -> None:
    (tmp_path / DATABASE).write_bytes((filled / DATABASE).read_bytes())
    looked = CheckResult(unavailable=["one partition"], not_checked=["the state"])
    looked.at["events"] = 7
    finding = FINDING | {"aggregate_type": "order", "aggregate_id": "o-1"}
    settings = settings_alone(APPLICATION, data_dir=tmp_path)
    record(settings, run_of(1_795_000_000_000, ("order", None), looked, 1, [finding]))
    record(settings, run_of(1_795_000_000_000, (None, None), CheckResult(), 0, []))
    browser = opened(data_dir=tmp_path, page_token=TOKEN).browser

    masked = text(browser.get("/audit").text)
    whole = text(browser.get("/audit", headers=BEARER).text)
    assert masked.index("everything clean") < masked.index("order 1 findings 7 events")
    assert "hidden without the token" in masked
    assert "secret-ada" not in masked
    assert "projections: order o-1 cashier is 'secret-ada' one partition" in whole
    assert "the state" in whole


def test_all_interventions_are_in_one_list_as_far_as_one_may_see_them(
    opened: Opened, filled: Path, tmp_path: Path
) -> None:
    (tmp_path / DATABASE).write_bytes((filled / DATABASE).read_bytes())
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        database.executescript(DECIDED)
    browser = opened(data_dir=tmp_path, page_token=TOKEN).browser

    masked = text(browser.get("/audit").text)
    whole = text(browser.get("/audit", headers=BEARER).text)
    assert "ada skip order.events:0:5-6 torn" in masked
    assert "Needs the token: dead_letter_intervention, projection_intervention." in masked
    assert "bob" not in masked
    assert "bob edit dead letter a-parked-letter typo" in whole
    assert "cleo replay us_holder v1: position p-7 version 2" in whole
    assert whole.index("cleo") < whole.index("bob") < whole.index("ada skip")


def test_without_a_verification_the_page_says_how_to_run_one(opened: Opened, filled: Path) -> None:
    said = text(opened(data_dir=filled).browser.get("/audit").text)

    assert "Never. verdict verify checks log, archive, state and projections" in said
