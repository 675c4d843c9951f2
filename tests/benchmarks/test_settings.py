"""A benchmark measures what `verdict up` runs."""

from pathlib import Path

import pytest

from benchmarks.measurement import LOCATION, VARIED, settings_for
from tests.application import APPLICATION
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither variables nor files of this machine count."""
    monkeypatch.chdir(tmp_path)


def test_a_benchmark_runs_with_the_settings_of_up(tmp_path: Path) -> None:
    ours, ups = settings_for("kafka:9092", tmp_path, "bench"), load_settings(APPLICATION)

    differing = {n for n in Settings.model_fields if getattr(ours, n) != getattr(ups, n)}
    assert differing == LOCATION


def test_only_what_is_said_to_vary_does(tmp_path: Path) -> None:
    varied = {
        "shards": 1, "max_rows_per_batch": 7, "spark_master": "spark://host:7077",
        "shared_dir": tmp_path, "spark": {"driver.host": "host"},
    }  # fmt: skip
    ours = settings_for("kafka:9092", tmp_path, "bench", **varied)
    ups = load_settings(APPLICATION)

    differing = {n for n in Settings.model_fields if getattr(ours, n) != getattr(ups, n)}
    assert differing == LOCATION | VARIED
    with pytest.raises(AssertionError):
        settings_for("kafka:9092", tmp_path, "bench", cores=1)
