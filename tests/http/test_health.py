"""U-05: health, metrics and facts for machines."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.http.conftest import Opened, Page, standing
from verdict.http.metrics import METRICS
from verdict.operations.status.problems import SILENT_S, not_running, service_problems
from verdict.operations.status.status import DATABASE, KAFKA, Problem
from verdict.settings.discovery import FILE, OverdueBatch

[SERVICE] = standing().processes
SILENT = service_problems(SERVICE, SILENT_S + 1)
OVERDUE = replace(SERVICE, overdue={"decider": OverdueBatch(5, 0)})
PARKED = Problem("2 dead letters are parked")


def samples(page: Page) -> dict[tuple[str, ...], float]:
    """Return the value of each metric, by its name and the values of its labels."""
    families = text_string_to_metric_families(page.browser.get("/metrics").text)
    return {(s.name, *s.labels.values()): s.value for one in families for s in one.samples}


@pytest.mark.proves("U-05")
@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"service": None, "processes": ()}, "no verdict runs on /nowhere: start `verdict up`"),
        ({"problems": (Problem("Kafka is away", KAFKA), PARKED)}, "Kafka is away"),
        ({"problems": (*SILENT, PARKED)}, "has given no sign of life"),
        ({"problems": (*service_problems(OVERDUE, 0), PARKED)}, "has been under way since"),
        (
            {"service": None, "processes": (replace(SERVICE, stopped={"lake": "no disk"}),)},
            "no decider runs on /nowhere: start `verdict run decider`",
        ),
    ],
)
def test_a_service_that_does_not_decide_says_why(
    page: Page, found: dict[str, Any], why: str
) -> None:
    page.looked.find(**found)
    if "problems" not in found:
        page.looked.find(problems=(*not_running(page.looked.now),))

    answer = page.browser.get("/readyz")
    [said] = answer.json()["why"]
    assert (answer.status_code, why in said) == (503, True)
    is_stopped = any("lake" in one.stopped for one in page.looked.now.processes)
    assert samples(page).get(("verdict_component_stopped", "lake"), 0) == is_stopped


@pytest.mark.parametrize(
    "problem",
    [
        Problem("projection outcome v1 is stopped: why", "outcome"),
        Problem("read.db: it is away", DATABASE),
    ],
)
def test_a_problem_of_the_read_side_is_no_reason_but_needs_attention(
    page: Page, problem: Problem
) -> None:
    page.looked.find(unreachable=True, problems=(problem,))

    ready = page.browser.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "why": []})
    status = page.browser.get("/status").json()
    assert (status["colour"], status["problems"]) == ("amber", [problem])


@pytest.mark.proves("U-05")
def test_every_metric_is_documented_and_named_as_prometheus_wants(page: Page) -> None:
    page.looked.now = standing(decided=5, end=7, lag=3)
    found = samples(page)

    assert {name for name, *_ in found} >= {name for group in METRICS for name in group.meanings}
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
    nothing = ("commands", "decider", "projections", "dead_letters", "processors")
    page.looked.find(**dict.fromkeys(nothing))

    assert not {name for name, *_ in samples(page) if "lag" in name or "decider" in name}


def test_whose_service_gives_no_sign_of_life_is_not_alive(opened: Opened, tmp_path: Path) -> None:
    """A page in a process of its own lives."""
    silent = tmp_path / FILE
    silent.touch()
    then = time.time() - SILENT_S - 1
    os.utime(silent, (then, then))

    assert opened(with_service=True).browser.get("/livez").status_code == 503
    assert opened().browser.get("/livez").status_code == 200
