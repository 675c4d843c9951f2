from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verdict.settings import checks
from verdict.settings.checks import BatchSizeError, check_batch_size, transaction_timeout_s
from verdict.settings.settings import Settings

GIB = 2**30


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the disk have so many bytes free."""

    def set_free(size: int) -> None:
        found = SimpleNamespace(free=size)
        monkeypatch.setattr(checks, "disk_usage", lambda _: found)

    set_free(100 * GIB)
    return set_free


def settings(tmp_path: Path, **chosen: Any) -> Settings:
    return Settings(data_dir=tmp_path, **chosen)


def test_a_transaction_may_take_what_is_set_and_more_only_as_a_full_batch_needs_it(
    tmp_path: Path,
) -> None:
    assert transaction_timeout_s(settings(tmp_path)) == 15
    assert transaction_timeout_s(settings(tmp_path, transaction_timeout_s=20)) == 20
    assert transaction_timeout_s(settings(tmp_path, max_rows_per_batch=100_000)) == 63


@pytest.mark.proves("C-11")
def test_a_batch_that_no_transaction_can_hold_is_refused_with_what_would_fit(
    tmp_path: Path, free: Any
) -> None:
    with pytest.raises(BatchSizeError) as refused:
        check_batch_size(settings(tmp_path, max_rows_per_batch=2_000_000))

    assert str(refused.value) == (
        "max_rows_per_batch 2000000 x max_command_bytes 65536 = 125,000 MiB a batch, and "
        "publishing that takes about 1250 s in one transaction, of which Kafka allows 900: lower "
        "max_rows_per_batch to 1440000 or max_command_bytes to 47185"
    )


@pytest.mark.parametrize(
    "chosen", [{}, {"max_rows_per_batch": 1_440_000}, {"max_command_bytes": 47_185}]
)
def test_the_defaults_fit_and_what_the_message_proposes(
    tmp_path: Path, free: Any, chosen: dict[str, int]
) -> None:
    free(1000 * GIB)
    many = {"max_rows_per_batch": 2_000_000} if chosen else {}
    check_batch_size(settings(tmp_path, **many | chosen))


def test_a_batch_that_the_disk_of_outputs_cannot_hold_is_refused(tmp_path: Path, free: Any) -> None:
    free(2 * GIB)
    shared = tmp_path / "shared"

    with pytest.raises(BatchSizeError) as refused:
        check_batch_size(settings(tmp_path / "d", shared_dir=shared))

    assert str(refused.value) == (
        "max_rows_per_batch 20000 x max_command_bytes 65536 = 1,250 MiB a batch, and "
        f"{shared} must hold that 3 times while it is decided: 3,750 MiB are needed, 2,048 MiB "
        "are free; make room, lower max_rows_per_batch or lower max_command_bytes"
    )
