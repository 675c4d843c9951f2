"""From the workers to the driver: through Spark what is small, through local files what is not.

Spark copies what it collects from one part of its JVM to the next, and holds a whole batch more
than once. So what a lonely command or a few put out goes that way, which takes no file; chunks of
more go into files, whose paths stand for them.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from verdict.adapters.storage.folders import located, remove

NOTHING_TOLD = {"moved": [None], "arrived": [None]}
BY_SPARK_BYTES = 256 * 2**10  # for each shard and batch


class Handover:
    """The worker's end, for one shard and batch.

    Args:
        folder: An existing one for the files, which are removed by who publishes them; None: there
            are none, and everything goes through Spark.
        by_spark: How many bytes go through Spark.
    """

    def __init__(self, folder: Path | None, by_spark: int = BY_SPARK_BYTES) -> None:
        self._folder = folder
        self._room = by_spark

    def frame(self, chunk: bytes) -> pd.DataFrame:
        """Return the row of `DECIDED_SCHEMA` that carries `chunk`, or says where it lies."""
        self._room -= len(chunk)
        if self._folder is None or self._room >= 0:
            return pd.DataFrame({"outputs": [chunk], "file": [None], **NOTHING_TOLD})
        path = self._folder / f"{uuid.uuid4()}.chunk"
        path.write_bytes(chunk)
        return pd.DataFrame({"outputs": [None], "file": [str(path)], **NOTHING_TOLD})


class Outputs:
    """Where the files of one owner lie, apart from those of owners before and after it.

    One that was fenced and does not know it yet removes its own files and none of its successor's.

    Args:
        folder: Of all owners.

    Attributes:
        folder: Of this one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / str(uuid.uuid4())
        self._former = [*folder.glob("*")]  # those of a successor come later

    def clear(self) -> None:
        """Remove what is published, and what owners before left; only who is the owner may."""
        for each in (self.folder, *self._former):
            remove(each)
        self._former.clear()


def chunks_of(table: pa.Table) -> Iterator[bytes]:
    """Yield the chunks of a table of `OUTPUT_SCHEMA` in their order; of files, one at a time."""
    for chunk, file in zip(table["outputs"], table["file"], strict=True):
        path = file.as_py()
        if path is not None:
            yield located(path).read_bytes()
        elif chunk.is_valid:  # else the row tells of a shard
            yield chunk.as_py()
