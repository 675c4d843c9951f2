"""Outputs from the workers to the driver: few bytes through Spark, more through local files.

Spark copies what it collects within its JVM, and holds a whole batch more than once. So larger
chunks go into files, and Spark carries their paths.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from verdict.adapters.storage.folders import located, remove

BY_SPARK_BYTES = 256 * 2**10  # for each shard and batch


class Handover:
    """The worker's end, for one shard and batch.

    The publisher of the outputs removes the files. Without a folder all goes through Spark.
    """

    def __init__(self, folder: Path | None, by_spark: int = BY_SPARK_BYTES) -> None:
        self._folder = folder
        self._room = by_spark

    def frame(self, chunk: bytes) -> pd.DataFrame:
        """Return the row of `DECIDED_SCHEMA` with `chunk`, or with the path of its file."""
        self._room -= len(chunk)
        row: dict[str, list[bytes | str | None]] = {"outputs": [chunk], "file": [None]}
        if self._folder is not None and self._room < 0:
            path = self._folder / f"{uuid.uuid4()}.chunk"
            path.write_bytes(chunk)
            row = {"outputs": [None], "file": [str(path)]}
        return pd.DataFrame(row | {"moved": [None], "arrived": [None]})


class Outputs:
    """The folder with the files of one owner.

    An owner that was fenced and does not know it yet removes its own files alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / str(uuid.uuid4())
        self._former = [*folder.glob("*")]  # those of a successor come later

    def clear(self) -> None:
        """Remove published files and those of former owners; only the owner may do it."""
        for each in (self.folder, *self._former):
            remove(each)
        self._former.clear()


def chunks_of(table: pa.Table) -> Iterator[bytes]:
    """Yield the chunks of a table of `OUTPUT_SCHEMA` in their order, reading one file at a time."""
    for chunk, file in zip(table["outputs"], table["file"], strict=True):
        path = file.as_py()
        if path is not None:
            yield located(path).read_bytes()
        elif chunk.is_valid:  # else the row is about a shard
            yield chunk.as_py()
