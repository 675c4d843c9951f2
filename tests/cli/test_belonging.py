"""G-06: a lag below nothing is a problem, and says whose."""

import pytest

from verdict.cli.belonging import ahead
from verdict.cli.standing import _total

QUIET = {"commands": None, "processors": None, "projections": None, "letters": None}


@pytest.mark.proves("G-01")
def test_who_has_read_further_than_kafka_goes_is_named() -> None:
    facts = {
        "commands": [{"lag": 3}, {"lag": -2}],
        "processors": [{"processor": "lake", "lag": -1}, {"processor": "reactions", "lag": 0}],
        "projections": [
            {"projection": "outcome", "version": 1, "lag": -7},
            {"projection": "us_holder", "version": 2, "lag": None},
        ],
        "letters": {"lag": -4},
    }

    said = [problem.split(" offsets")[0] for problem in ahead(facts)]

    assert said == [
        "the decider has read 2",
        "the lake has read 1",
        "projection outcome v1 has read 7",
        "the intake of letters has read 4",
    ]
    assert list(ahead(QUIET)) == []


def test_a_partition_that_is_ahead_is_not_made_up_for_by_others() -> None:
    assert _total([5, -2, 1]) == -2
    assert _total([5, 0, 1]) == 6
    assert _total([5, None, -1]) is None
    assert _total([]) == 0
