"""Rows that were handed over are in the files of their batch, or nothing is published."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from verdict.errors import VerdictError
from verdict.reactions.lake.table import require_rows


def test_files_with_all_rows_are_taken(tmp_path: Path) -> None:
    for day, rows in (("day=1", 2), ("day=2", 3)):
        (tmp_path / day).mkdir()
        write_table(pa.table({"line": [*range(rows)]}), tmp_path / day / "part.parquet")

    require_rows(tmp_path, 5)
    require_rows(tmp_path / "of an empty batch", 0)


@pytest.mark.proves("P-06")
def test_rows_that_an_executor_wrote_elsewhere_are_missed(tmp_path: Path) -> None:
    write_table(pa.table({"line": [1, 2]}), tmp_path / "part.parquet")

    with pytest.raises(VerdictError, match=r"^1000 rows .* and 2 are there: let all executors see"):
        require_rows(tmp_path, 1000)
