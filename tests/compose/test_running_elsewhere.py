"""What runs verdict elsewhere fits what verdict is; no docker engine is needed to look."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.application import APPLICATION
from tests.documents import ROOT, Document
from verdict.errors import EnvironmentIncompleteError
from verdict.http.metrics import METRICS
from verdict.settings.load import settings_alone
from verdict.settings.settings import Settings

COMPOSE = ROOT / "compose"
DEPLOYING = Document("docs/deploying.md")
NAMED = re.compile(r"\b(?:verdict|process)_\w+")


def content(name: str) -> Any:
    return yaml.safe_load((COMPOSE / name).read_text())


SERVICES: dict[str, dict[str, Any]] = content("docker-compose.yml")["services"]
RULES = [rule for group in content("alerts.yml")["groups"] for rule in group["rules"]]
PANELS = json.loads((COMPOSE / "grafana" / "verdict.json").read_text())["panels"]

each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=[*SERVICES])


def env_of(dockerfile: str) -> dict[str, str]:
    joined = dockerfile.replace("\\\n", " ")
    return dict(
        pair.split("=", 1)
        for line in joined.splitlines()
        if line.startswith("ENV ")
        for pair in line.split()[1:]
    )


@pytest.mark.proves("S-05")
@each_service
def test_each_service_starts_again_stays_the_same_and_is_closed_to_other_machines(
    service: dict[str, Any],
) -> None:
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["restart"] == "unless-stopped"
    assert re.match(r"v?\d", service["image"].rpartition(":")[2]), service["image"]
    assert [one for one in service.get("ports", ()) if not one.startswith("127.0.0.1:")] == []


def test_no_secret_is_in_the_file() -> None:
    told = [pair for one in SERVICES.values() for pair in one.get("environment", {}).items()]
    secret = [(name, value) for name, value in told if re.search("PASSWORD|TOKEN|_URL", name)]

    assert len(secret) >= 4
    assert [name for name, value in secret if value and "${" not in value] == []


def test_what_is_kept_is_on_volumes_that_are_named() -> None:
    kept = {one.partition(":")[0] for each in SERVICES.values() for one in each.get("volumes", ())}
    places = {one for one in kept if not one.startswith("./")}

    assert places == {*content("docker-compose.yml")["volumes"]}
    files = kept - places
    assert [one for one in files if not (COMPOSE / one).is_file()] == []
    assert "postgres:/var/lib/postgresql" in SERVICES["postgres"]["volumes"]  # as of 18


def test_the_service_has_settings_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prometheus and Kafka UI ask for it by its name, which the page must know as its own."""
    told = SERVICES["verdict"]["environment"] | env_of((COMPOSE / "Dockerfile").read_text())
    named = {
        name.removeprefix("VERDICT_").lower(): v for name, v in told.items() if "VERDICT" in name
    }

    assert {*named} <= {*Settings.model_fields}
    settings = settings_alone(
        APPLICATION, **{name: value for name, value in named.items() if value}
    )
    asked = content("prometheus.yml")["scrape_configs"][0]["static_configs"][0]["targets"]
    assert asked == [f"{settings.allowed_hosts[0]}:{settings.page_port}"]
    registry = SERVICES["kafka-ui"]["environment"]["KAFKA_CLUSTERS_0_SCHEMAREGISTRY"]
    assert registry == f"http://{asked[0]}"
    assert SERVICES["verdict"]["ports"] == [f"127.0.0.1:{settings.page_port}:{settings.page_port}"]


def test_the_image_has_what_the_application_is_made_of_and_does_not_run_as_root() -> None:
    lines = (COMPOSE / "Dockerfile").read_text().splitlines()
    taken = {line.split()[1] for line in lines if line.startswith("COPY ") and "--from" not in line}
    open_to = {
        line[1:]
        for line in (COMPOSE / "Dockerfile.dockerignore").read_text().split()
        if line[0] == "!"
    }

    assert {"schemas", "commands", "aggregates", "projections", "compose"} <= taken
    assert all((ROOT / name).exists() for name in open_to)
    assert [line for line in lines if line.startswith("USER ")] == ["USER verdict"]
    assert all(":" in line for line in lines if line.startswith("FROM "))


def test_systemd_starts_again_all_but_what_a_person_must_change() -> None:
    unit = (COMPOSE / "verdict.service").read_text()
    usage = 2

    assert "Restart=always" in unit
    assert f"RestartPreventExitStatus={usage} {EnvironmentIncompleteError.exit_code}\n" in unit
    assert "KillMode=mixed" in unit


@pytest.mark.parametrize(
    "asked",
    [*(rule["expr"] for rule in RULES), *(t["expr"] for one in PANELS for t in one["targets"])],
)
def test_what_is_asked_of_prometheus_is_a_metric_with_these_labels(asked: str) -> None:
    known = {name: {*group.labels} for group in METRICS for name in group.meanings}
    names = {*NAMED.findall(re.sub(r'"[^"]*"', "", asked))}

    assert names <= {*known, "process_resident_memory_bytes"}
    used = {*re.findall(r"(\w+)=~?\"", asked)} - {"job"}
    assert used <= set().union(*(known.get(name, set()) for name in names))


def test_every_alert_says_what_it_found_and_has_its_line_in_the_documents() -> None:
    told = [row[0].strip("`") for row in DEPLOYING.table("alert")]

    assert told == [rule["alert"] for rule in RULES]
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in RULES)


def test_every_file_that_is_shown_is_there() -> None:
    named = {*re.findall(r"\bcompose/[\w./-]+\w", DEPLOYING.text)}

    assert named >= {"compose/Dockerfile", "compose/docker-compose.yml", "compose/verdict.service"}
    assert [name for name in named if not Path(ROOT, name).is_file()] == []
