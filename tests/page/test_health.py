"""U-05: health, metrics and facts for machines."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.page.conftest import Opened, Page, standing
from verdict.http.metrics import METRICS
from verdict.operations.status.problems import SILENT_S, not_running, problems_of, told_by
from verdict.operations.status.status import DATABASE, KAFKA, BlockedAggregateStatus, Problem
from verdict.settings.discovery import FILE, OverdueBatch


def samples(page: Page) -> dict[tuple[str, ...], float]:
    """Return the value of each metric, by its name and the values of its labels."""
    families = text_string_to_metric_families(page.browser.get("/metrics").text)
    return {(s.name, *s.labels.values()): s.value for one in families for s in one.samples}


def test_who_decides_is_ready(page: Page) -> None:
    answer = page.browser.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"ready": True, "why": []})
    assert page.browser.get("/livez").status_code == 200


@pytest.mark.proves("U-05")
def test_who_does_not_decide_says_why(page: Page) -> None:
    page.looked.find(service=None, processes=())
    page.looked.find(problems=(*not_running(page.looked.now),))

    answer = page.browser.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["why"] == ["no verdict runs on /nowhere: start `verdict up`"]


def test_a_kafka_that_is_away_is_why(page: Page) -> None:
    parked = Problem("2 dead letters are parked")
    page.looked.find(unreachable=True, problems=(Problem("Kafka is away", KAFKA), parked))

    told = page.browser.get("/readyz").json()
    assert (told["ready"], told["why"]) == (False, ["Kafka is away"])


def test_where_other_roles_run_alone_the_decider_is_missed(page: Page) -> None:
    [lake] = page.looked.now.processes
    page.looked.find(service=None, processes=(replace(lake, stopped={"lake": "no disk"}),))

    said = "no decider runs on /nowhere: start `verdict run decider`"
    assert page.browser.get("/readyz").json()["why"] == [said]
    assert samples(page)["verdict_component_stopped", "lake"] == 1
    assert samples(page)["verdict_component_stopped", "outcome"] == 0


def test_a_decider_that_gives_no_sign_of_life_is_why(page: Page) -> None:
    [service] = page.looked.now.processes
    said = [*told_by(service, SILENT_S + 1)]
    page.looked.find(problems=(*said, Problem("the lake stopped: no disk", "lake")))

    assert page.browser.get("/readyz").json()["why"] == said
    assert "has given no sign of life" in said[0]


def test_a_batch_of_the_decider_that_does_not_end_is_why(page: Page) -> None:
    [service] = page.looked.now.processes
    [said] = told_by(replace(service, overdue={"decider": OverdueBatch(5, 0)}), 0)
    page.looked.find(problems=(said, Problem("else")))

    assert page.browser.get("/readyz").json()["why"] == [said]


def test_a_read_model_that_is_stopped_is_no_reason_and_somebody_should_look(page: Page) -> None:
    page.looked.find(problems=(Problem("projection outcome v1 is stopped: why", "outcome"),))

    assert page.browser.get("/readyz").status_code == 200
    status = page.browser.get("/status").json()
    assert (status["colour"], status["problems"]) == (
        "amber",
        ["projection outcome v1 is stopped: why"],
    )


def test_a_database_that_is_away_is_no_reason(page: Page) -> None:
    page.looked.find(unreachable=True, problems=(Problem("read.db: it is away", DATABASE),))

    assert page.browser.get("/readyz").json() == {"ready": True, "why": []}
    assert page.browser.get("/status").json()["colour"] == "amber"


def test_an_aggregate_may_be_called_after_the_decider(page: Page) -> None:
    [shown] = page.looked.now.projections or ()
    held = BlockedAggregateStatus("order", "a decider b", 3, 5, "2026-11-21T09:00:00.000Z", None)
    page.looked.find(projections=(replace(shown, held=(held,)),))
    page.looked.find(problems=(*problems_of(page.looked.now),))

    assert "a decider b" in page.browser.get("/live").text
    assert page.browser.get("/readyz").status_code == 200


@pytest.mark.proves("U-05")
def test_every_metric_is_told_and_named_as_prometheus_wants(page: Page) -> None:
    page.looked.now = standing(decided=5, end=7, lag=3)
    found = samples(page)

    assert {name for name, *_ in found} >= {metric.name for metric in METRICS}
    assert found["verdict_ready",] == found["verdict_service_running",] == 1
    assert found["verdict_lag_records", "decider"] == 2
    assert found["verdict_lag_records", "outcome"] == 3
    assert found["verdict_projection_lag_records", "outcome", "live", "1"] == 3
    assert found["verdict_commands_sent_total", "0", "order.commands"] == 7
    assert found["verdict_commands_decided_total", "0", "order.commands"] == 5
    assert found["verdict_events_total",] == 12
    assert found["verdict_answered_last_minute", "NOT_FOUND"] == 1
    assert found["verdict_refused_last_minute", "OVERFILL"] == 2
    assert found["verdict_refused_last_minute", "other"] == 3, "a rule may compute its codes"
    assert found["verdict_answer_seconds", "0.99"] == 1.2
    assert found["verdict_policy_rejected_total", "ship", "BUSINESS_RULE"] == 7
    assert found["verdict_policy_rejected_unexpected", "ship", "BUSINESS_RULE"] == 1
    assert found["verdict_dead_letters", "parked"] == 0


def test_what_is_unknown_has_no_value(page: Page) -> None:
    page.looked.find(
        commands=None, decider=None, projections=None, dead_letters=None, processors=None
    )

    assert not {name for name, *_ in samples(page) if "lag" in name or "decider" in name}


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8300", "localhost", "[::1]:80", "10.0.0.7", "v.example"]
)
def test_who_asks_for_us_is_let_in(opened: Opened, host: str) -> None:
    page = opened(allowed_hosts=("v.example",))

    assert page.browser.get("/livez", headers={"host": host}).status_code == 200


@pytest.mark.proves("S-05")
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8300", "127.0.0.1.evil.example", ""]
)
def test_a_name_that_was_made_to_point_here_is_not(page: Page, host: str) -> None:
    answer = page.browser.get("/status", headers={"host": host})

    assert answer.status_code == 421
    assert "allowed_hosts" in answer.text


def test_every_answer_lets_nobody_elses_page_in(page: Page) -> None:
    for path in ("/livez", "/metrics", "/nowhere"):
        headers = page.browser.get(path, headers={"origin": "https://evil.example"}).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


def test_whose_service_gives_no_sign_of_life_is_not_alive(opened: Opened, tmp_path: Path) -> None:
    """Only beside the service: a page by itself lives."""
    silent = tmp_path / FILE
    silent.touch()
    then = time.time() - SILENT_S - 1
    os.utime(silent, (then, then))

    assert opened(beside=True).browser.get("/livez").status_code == 503
    assert opened().browser.get("/livez").status_code == 200
