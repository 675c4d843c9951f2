"""Projections as they were, told while the service goes on."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.application import APPLICATION
from tests.kit.service import Deployment
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.time_text import wall_clock
from verdict.model.message import iso_time
from verdict.read_side.as_of.materialiser import Materialiser
from verdict.read_side.as_of.resolving import parse_as_of
from verdict.read_side.catalog import declared_projections, projections
from verdict.read_side.schema.system_views import readable
from verdict.settings.load import load_settings

pytestmark = pytest.mark.timeout(300)

NAMES = ("us_holder", "client_recent_order", "program_tally", "client_overview")
Rows = list[dict[str, Any]]


@pytest.mark.proves("A-03")
@pytest.mark.thorough
def test_a_projection_is_exported_as_of_a_time_while_the_service_runs(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """A-03: what a service that stopped there showed, the same bytes each time, whole or not."""
    deployment = Deployment(broker.bootstrap_servers, "export", tmp_path / "d")
    with deployment.running():
        with deployment.traffic(seed=11):
            deployment.await_outcomes(300)
        live = at_rest(deployment)
        then = iso_time(wall_clock())
        [[last]] = deployment.sql("select max(global_position) from event_archive")
        with deployment.traffic(seed=12):
            before = deployment.outcomes()
            told = {
                (name, as_of): told_once(deployment, name, as_of)
                for name in NAMES
                for as_of in (last, then)
            }
            assert deployment.outcomes() > before
            again = {as_of: told_once(deployment, "us_holder", as_of) for as_of in (last, then)}
        now = at_rest(deployment)
        assert {name: complete(told_once(deployment, name, "now")) for name in NAMES} == now
        assert now != live
    for (name, as_of), content in told.items():
        assert complete(content) == live[name], f"{name} as of {as_of}"
    assert again == {as_of: told["us_holder", as_of] for as_of in (last, then)}


def at_rest(deployment: Deployment) -> dict[str, Rows]:
    """Return what readers see of each projection, in the order of the keys, once all is in it."""
    deployment.await_quiet()
    deployment.await_read_side()
    found: dict[str, Rows] = {}
    with Reader(deployment.database_url, readable(projections(APPLICATION))) as reader:
        for name in NAMES:
            seen = reader.select(
                f"SELECT * FROM {name} ORDER BY "
                + ", ".join(declared_projections(APPLICATION)[name].key)
            )
            found[name] = [dict(zip(seen.columns, row, strict=True)) for row in seen.rows]
    assert all(found.values()), "there is something to tell of each"
    return found


def complete(content: bytes) -> Rows:
    """Return the rows, once it is seen that the progress record is right."""
    *lines, last = content.splitlines(keepends=True)
    progress = json.loads(last)
    assert progress["count"] == len(lines)
    assert progress["checksum"] == sha256(b"".join(lines)).hexdigest()
    return [*map(json.loads, lines)]


def told_once(deployment: Deployment, name: str, as_of: object) -> bytes:
    """Return the file that the verb writes."""
    settings = load_settings(
        APPLICATION,
        deployment=deployment.topics.deployment,
        topic_prefix=deployment.topics.prefix,
        data_dir=deployment.data_dir,
        bootstrap_servers=deployment.servers,
    )
    file = deployment.data_dir.parent / f"{name}.ndjson"
    Materialiser(settings, name).run(parse_as_of(str(as_of)), str(file))
    return file.read_bytes()
