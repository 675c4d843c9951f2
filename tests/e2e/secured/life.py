"""The life of a service behind Kafka's security, in which each role does what it may do."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from commands.order import ModifyOrder
from tests.application import APPLICATION
from tests.kit.deployment import await_true
from tests.kit.service import ROOT, VERDICT, await_ready, start_process, stop
from tests.ports import free_ports
from verdict.cli.acls import KafkaPrincipal
from verdict.client.client import Client
from verdict.settings.kafka import librdkafka_options
from verdict.settings.load import load_settings
from verdict.wire.topics import Topics

TOPICS = Topics(APPLICATION, "guarded", "shop-", partitions=1)
PLANTED = "hunter2"
PASSWORD = f'{PLANTED} is "quoted"; \\ and {{braced}}'
KEY_PASSWORD = f"{PLANTED} opens the key"
WAIT_S = 120

Environment = dict[str, str]

PLACE: tuple[str, ...] = (
    *("send", "order", "PlaceOrder", "--id", "o-1", "--expected-version", "0"),
    *("--wait", str(WAIT_S), "--field", "client=ada", "--field", "ticker=AAPL"),
    *("--field", "side=BUY", "--field", "quantity=10", "--field", "limit_price_cents=15000"),
)
READS: tuple[tuple[str, ...], ...] = (
    ("tail", "commands", "order", "--no-follow"),
    ("tail", "events", "--no-follow"),
    ("history", "order", "o-1"),
    ("state", "order", "o-1"),
    ("topics", "check"),
    ("topics", "check", "--json"),
    ("status",),
    ("status", "--json"),
    ("config", "show"),
    ("config", "show", "--json"),
)
PAGES = ("/environment/", "/SQL/", "/jobs/", "/StreamingQuery/")
REST = ("environment", "sql?details=true&planDescription=true", "jobs")


def as_role(role: KafkaPrincipal, settings: Environment) -> Environment:
    """Return the settings of somebody else."""
    return settings | {"VERDICT_KAFKA_USER": role}


def lived(settings: Environment, folder: Path) -> dict[str, str]:
    """Let a service live, and return all that it and its users are shown, by where."""
    said: dict[str, str] = {}
    with watched(settings, folder) as address:
        sender, reader = (
            as_role(role, settings) for role in (KafkaPrincipal.SENDER, KafkaPrincipal.READER)
        )
        said["send"] = verdict(sender, *PLACE)
        modify_by_client(sender)
        await_rows(settings, "SELECT * FROM outcome", 2)
        await_rows(settings, "SELECT * FROM event_archive", 2)
        said |= {" ".join(verb): verdict(reader, *verb) for verb in READS}
        [application] = json.loads(page(f"{address}/api/v1/applications"))
        rest = f"/api/v1/applications/{application['id']}"
        for path in (*PAGES, *(f"{rest}/{part}" for part in REST)):
            said[path] = page(address + path)
        said["verdict.json"] = (folder / "d" / "verdict.json").read_text()
    said["stderr"] = (folder / "stderr").read_text()
    return said


@contextmanager
def watched(settings: Environment, folder: Path) -> Iterator[str]:
    """Run `verdict up` with all that Spark can show, and give the address of its pages.

    Its event log is in `events`; the plans are shown as `explain` does at most.
    """
    [port] = free_ports(1)
    (folder / "events").mkdir()
    shown = {
        "ui.enabled": True,
        "ui.port": port,
        "eventLog.enabled": True,
        "eventLog.dir": (folder / "events").as_uri(),
        "eventLog.compress": False,
        "sql.ui.explainMode": "extended",
    }
    spark = {"VERDICT_SPARK": json.dumps(shown)}
    with (
        (folder / "stderr").open("w") as said,
        start_process([VERDICT, "up"], os.environ | settings | spark, stderr=said) as service,
    ):
        try:
            await_ready(service)
            yield f"http://127.0.0.1:{port}"
            stop(service)
        finally:
            service.kill()


def verdict(settings: Mapping[str, str], *arguments: str, exit_code: int = 0) -> str:
    """Run a verb, hold it to its exit code, and return all that it said."""
    done = subprocess.run(
        [VERDICT, *arguments],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=480,
    )
    assert done.returncode == exit_code, done.stderr
    return done.stdout + done.stderr


def options_of(settings: Environment) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        return librdkafka_options(load_settings(APPLICATION))


def modify_by_client(settings: Environment) -> None:
    servers = settings["VERDICT_BOOTSTRAP_SERVERS"]
    with Client(APPLICATION, servers, TOPICS, config=options_of(settings)) as client:
        outcome = client.send("o-1", ModifyOrder(quantity=5), expected_version=1).wait(WAIT_S)
    assert (outcome.status, outcome.to_version) == ("ACCEPTED", 2)


def await_rows(settings: Environment, query: str, count: int) -> None:
    rows = partial(verdict, settings, "sql", query, "--json")
    await_true(lambda: len(rows().splitlines()) >= count, what=f"{query} has not {count} rows")


def page(url: str) -> str:
    with urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
    return text
