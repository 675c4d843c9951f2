"""What a version was built with is asked of the read side, and a fault is not taken for nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.errors import VerdictError
from verdict.read_side.catalog import live_settings, projections
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.settings.load import settings_alone


def test_without_a_read_side_what_is_set_counts(tmp_path: Path) -> None:
    settings = settings_alone(APPLICATION, data_dir=tmp_path)

    assert live_settings(settings, "us_holder") is settings


def test_a_read_side_that_does_not_tell_is_no_read_side_without_an_answer(tmp_path: Path) -> None:
    create_read_side(
        open_database(f"sqlite:///{tmp_path / 'verdict.db'}"), projections(APPLICATION)
    )
    with closing(sqlite3.connect(tmp_path / "verdict.db")) as file:
        file.execute("DROP VIEW projection_version")

    with pytest.raises(VerdictError, match="projection_"):
        live_settings(settings_alone(APPLICATION, data_dir=tmp_path), "us_holder")
