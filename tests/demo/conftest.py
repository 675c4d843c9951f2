"""A voice that is heard only by the test."""

from io import StringIO

import pytest
from rich.console import Console

from compose.demo.voice import Voice


@pytest.fixture
def heard() -> StringIO:
    """Return what the voice has said."""
    return StringIO()


@pytest.fixture
def voice(heard: StringIO) -> Voice:
    """Return a voice that speaks into `heard`."""
    return Voice(Console(file=heard, highlight=False, markup=False))
