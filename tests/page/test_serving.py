"""Where the page is found: at one URL, start after start."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.application import APPLICATION
from verdict.configuration.loading import settings_alone
from verdict.page.serving import Serving


def port_of(serving: Serving) -> int | None:
    return urlsplit(serving.url).port


@pytest.fixture
def first(tmp_path: Path) -> int | None:
    """Return the port of a start that has come to its end."""
    with Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as serving:
        serving.stay()
        return port_of(serving)


def test_the_next_start_listens_where_the_last_one_did(tmp_path: Path, first: int) -> None:
    with Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as again:
        assert port_of(again) == first


def test_another_port_is_found_when_somebody_has_taken_it(tmp_path: Path, first: int) -> None:
    settings = settings_alone(APPLICATION, data_dir=tmp_path)
    with socket.create_server(("127.0.0.1", first)), Serving(settings) as again:
        assert port_of(again) not in (None, first)


@pytest.mark.parametrize("noted", ["", "far too long", "-1", "70000", "9" * 30])
def test_what_is_no_port_is_passed_over(tmp_path: Path, noted: str) -> None:
    (tmp_path / "page.port").write_text(noted)
    with Serving(settings_alone(APPLICATION, data_dir=tmp_path)) as serving:
        assert port_of(serving)
