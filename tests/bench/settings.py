"""The settings of a benchmark: those of `verdict up`, on a broker and a directory of its own."""

from pathlib import Path
from typing import Any

from tests.application import APPLICATION
from verdict.settings.load import load_settings
from verdict.settings.settings import Settings

PLACES = frozenset({"data_dir", "bootstrap_servers", "deployment", "topic_prefix"})
VARIED = frozenset({"shards", "max_rows_per_batch", "spark_master", "shared_dir", "spark"})


def settings_for(servers: str, folder: Path, name: str, **varied: Any) -> Settings:
    """Return what `verdict up` would run with, but for places and what a benchmark varies.

    Args:
        servers: Of the broker.
        folder: Takes the data directory.
        name: Of the deployment, new for every run.
        varied: Of `VARIED`.
    """
    assert set(varied) <= VARIED, varied
    return load_settings(
        APPLICATION,
        data_dir=folder / name,
        bootstrap_servers=servers,
        deployment=name,
        topic_prefix=f"{name}-",
        **varied,
    )
