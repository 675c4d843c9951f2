"""The collector rests as long as anybody has it paused, whoever began and whoever ends."""

import gc
from collections.abc import Iterator

import pytest

from verdict.adapters.spark.gc import collector_paused


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    """Have it as it is in a new process, and afterwards as it was."""
    before = gc.isenabled()
    gc.enable()
    yield
    if not before:
        gc.disable()


def test_pauses_that_overlap_are_one() -> None:
    first, second = collector_paused(), collector_paused()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_it_goes_on_when_a_batch_fails() -> None:
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()
