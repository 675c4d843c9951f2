"""A page of what happened in `filled`, as it is served; and what checks documents and clients."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.application import APPLICATION
from tests.http.conftest import TOKEN, Looked
from verdict.http import serving
from verdict.http.application import page_of
from verdict.http.openapi import described
from verdict.settings.load import settings_alone


@pytest.fixture(scope="session")
def document() -> Any:
    """What a page says at `/openapi.json`."""
    settings = settings_alone(APPLICATION)
    return json.loads(json.dumps(described(page_of(settings), settings)))


@pytest.fixture(scope="module")
def served(filled: Path) -> Iterator[str]:
    """Return the address of a page that is served, without a slash at its end."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(serving, "page_of", partial(page_of, look=Looked()))
        settings = settings_alone(APPLICATION, data_dir=filled, page_token=TOKEN, page_port=0)
        with serving.Serving(settings) as page:
            yield page.url[:-1]
