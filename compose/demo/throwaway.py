"""A data directory for one run."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verdict.errors import VerdictError


@contextmanager
def data_directory(keep: Path | None) -> Iterator[Path]:
    """Give an empty directory, and remove it at the end; or `keep`, new or empty, which stays.

    Raises:
        VerdictError: `keep` holds something.
    """
    if keep is not None:
        if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
            raise VerdictError(f"{keep} is not empty: name a new directory to keep the data in")
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.absolute()
        return
    # mkdtemp's names are lower-case, as Spark's sockets want it
    folder = Path(tempfile.mkdtemp(prefix="verdict-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
