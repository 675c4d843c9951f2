"""`verdict warmup`: later JVMs map what those of the rehearsal wrote."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.kit.service import ROOT, VERDICT
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.adapters.local.jars import fetched

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(400)]


def test_a_broker_maps_the_classes_that_another_one_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache" / "verdict"
    cache.mkdir(parents=True)
    (cache / fetched().name).symlink_to(fetched())
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))

    answer = subprocess.run([VERDICT, "warmup"], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    kinds = {re.sub("-[0-9a-f]{16}", "", path.name) for path in cache.glob("*.jsa")}
    assert kinds == {"classes-broker.jsa", "classes-spark.jsa"}

    with EmbeddedBroker(tmp_path / "kafka") as broker:
        mapped = Path(f"/proc/{broker.process.pid}/maps").read_text()
    assert f"{os.sep}classes-broker-" in mapped
