"""Where a folder is, as Spark must be told it."""

from pathlib import Path


def local_path(folder: Path) -> str:
    """Return a folder as a URI of Hadoop's, whatever file system a cluster takes by default.

    Without a scheme it might be one of HDFS, and not that into which we look. Nothing is escaped,
    as `Path.as_uri` does: Hadoop would take a `%20` for the name.
    """
    where = str(folder.absolute())
    return where if "://" in where else f"file://{where}"
