import subprocess
import sys

import pytest

from tests import tiers


@pytest.mark.process
def test_a_test_that_starts_a_process_without_a_mark_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="mark it `process`"), tiers.held_small():
        subprocess.run([sys.executable, "-c", ""], check=True)


def test_a_test_that_computes_for_long_without_a_mark_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as moment:
        moment.setattr(tiers, "CPU_S", 0.0)
        moment.setattr(tiers, "is_thorough", lambda: False)
        with pytest.raises(pytest.fail.Exception, match="or mark it `slow`"), tiers.held_small():
            sum(range(100_000))
