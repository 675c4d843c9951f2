from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compose import batch_size
from compose.batch_size import BatchTooLarge, check_batch_size
from compose.settings import Settings

GIB = 2**30


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the disk have so many bytes free."""

    def set_free(size: int) -> None:
        found = SimpleNamespace(free=size)
        monkeypatch.setattr(batch_size, "disk_usage", lambda _: found)

    set_free(100 * GIB)
    return set_free


def settings(tmp_path: Path, **chosen: Any) -> Settings:
    return Settings(data_dir=tmp_path, **chosen)


def test_the_defaults_fit(tmp_path: Path, free: Any) -> None:
    check_batch_size(settings(tmp_path))


def test_a_batch_that_no_transaction_can_hold_is_refused_with_what_would_fit(
    tmp_path: Path, free: Any
) -> None:
    with pytest.raises(BatchTooLarge) as refused:
        check_batch_size(settings(tmp_path, max_rows_per_batch=100_000))

    assert str(refused.value) == (
        "max_rows_per_batch 100000 x command_limit_bytes 65536 = 6,250 MiB a batch, and publishing "
        "that takes about 63 s in one transaction: transaction_timeout_s is 15; raise it to 63, or "
        "lower max_rows_per_batch to 24000 or command_limit_bytes to 15728"
    )


@pytest.mark.parametrize(
    "chosen",
    [
        {"transaction_timeout_s": 63},
        {"max_rows_per_batch": 24_000},
        {"command_limit_bytes": 15_728},
    ],
)
def test_what_the_message_proposes_fits(tmp_path: Path, free: Any, chosen: dict[str, int]) -> None:
    check_batch_size(settings(tmp_path, **{"max_rows_per_batch": 100_000} | chosen))


def test_a_batch_that_the_disk_cannot_hold_is_refused(tmp_path: Path, free: Any) -> None:
    free(2 * GIB)

    with pytest.raises(BatchTooLarge) as refused:
        check_batch_size(settings(tmp_path))

    assert str(refused.value) == (
        "max_rows_per_batch 20000 x command_limit_bytes 65536 = 1,250 MiB a batch, and "
        f"{tmp_path} must hold that 3 times while it is decided: 3,750 MiB are needed, 2,048 MiB "
        "are free; make room, lower max_rows_per_batch or lower command_limit_bytes"
    )
