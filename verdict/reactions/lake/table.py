"""A table of files: a folder of batches, each of which is there whole, once, or not at all.

A batch is written where no reader looks, and put in place by one rename. Its folder names the
positions in Kafka from which and up to which it goes: sums of offsets, which only grow.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from pyarrow.parquet import read_metadata

from verdict.adapters.kafka.offsets import TopicOffsets
from verdict.adapters.storage.folders import flush
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.errors import CheckpointMismatchError

NAME = re.compile(r"batch=(\d+)-(\d+)")


class LakeSpan(NamedTuple):
    """The positions at which a batch and the next one begin."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"batch={self.start:012}-{self.end:012}"


def position(offsets: TopicOffsets) -> int:
    """Return the position of these next offsets, by partition, by topic."""
    return sum(map(sum, offsets.values()))


class LakeFolder:
    """The folder of the table, and a staging folder on the same file system, which is emptied."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self.folder = folder
        self._staging = staging
        rmtree(staging, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        staging.mkdir(parents=True)

    def check(self, progress: int | None, first: int, remedy: str) -> None:
        """Check that the table is as far as its progress record says.

        One more batch may be there: a process was killed, and `put` will replace it.
        """
        spans = sorted(self._spans())
        if progress is None:
            if spans:
                raise CheckpointMismatchError(
                    f"{self.folder} holds batches up to {spans[-1].end}, and no progress record "
                    f"says so: writing from the beginning would count every row twice; {remedy}"
                )
            return
        settled = [span for span in spans if span.start != progress]
        reached = settled[-1].end if settled else first
        if reached != progress:
            raise CheckpointMismatchError(
                f"{self.folder} ends at {reached}, its progress record at {progress} (sums of "
                f"offsets): rows would be missing, or counted twice; {remedy}"
            )

    def staged(self) -> Path:
        """Return a path for the files of a batch, at which there is nothing yet."""
        return self._staging / str(uuid.uuid4())

    def put(self, staged: Path, span: LakeSpan, on_former_away: Callable[[], None]) -> None:
        """Put a batch in place of whatever began where it begins."""
        staged.mkdir(exist_ok=True)
        flush((*staged.rglob("*"), staged))  # before Kafka says that it is there
        for former in [one for one in self._spans() if one.start == span.start]:
            away = self.staged()
            (self.folder / str(former)).rename(away)
            on_former_away()
            rmtree(away)
        staged.rename(self.folder / str(span))
        flush([self.folder])

    def _spans(self) -> Iterator[LakeSpan]:
        for path in self.folder.iterdir():
            if found := NAME.fullmatch(path.name):
                yield LakeSpan(int(found[1]), int(found[2]))


def require_rows(staged: Path, wanted: int) -> None:
    """Check the number of rows: an executor may have written to a folder on its own machine."""
    found = sum(read_metadata(file).num_rows for file in staged.rglob("*.parquet"))
    if found != wanted:
        raise VerdictError(
            f"{wanted} rows were handed over to be written to {staged}, and {found} are there: let "
            "all executors see the same folder (lake_dir, else shared_dir), then start again; "
            "nothing is lost"
        )
