"""What changed beyond noise is said, of the same measurement alone."""

import json
from pathlib import Path

import pytest

from benchmarks.results import LAST, compare

LATEST = {"what": "throughput", "keys": "uniform", "shards": 2, "decided_to_count": 0.30}


@pytest.mark.parametrize(
    ("now", "change"), [(0.28, "noise"), (0.32, "noise"), (0.26, "worse"), (0.4, "better")]
)
def test_a_change_is_distinguished_from_noise(tmp_path: Path, now: float, change: str) -> None:
    last = tmp_path / "last.jsonl"
    older = LATEST | {"decided_to_count": 0.1}
    last.write_text("\n".join(map(json.dumps, [older, LATEST, LATEST | {"shards": 1}])))

    (found,) = compare([LATEST | {"decided_to_count": now, "per_s": 7}], last)

    assert (found["last"], found["now"], found["change"]) == (0.30, now, change)


def test_what_was_never_measured_is_compared_with_nothing(tmp_path: Path) -> None:
    last = tmp_path / "last.jsonl"
    last.write_text(json.dumps(LATEST))

    assert [*compare([{"what": "machine", "cores": 2}, LATEST | {"keys": "zipf"}], last)] == []


def test_the_results_that_are_kept_can_be_compared_with() -> None:
    kept = [json.loads(line) for line in LAST.read_text().splitlines()]

    assert {one["change"] for one in compare(kept)} == {"noise"}
