"""Folders in an object store that speaks S3's API, for who has no file system that all mount.

They are used as `pathlib.Path` is. Where the store is, and who we are there, every process takes
from AWS's own environment: `AWS_ENDPOINT_URL` of a store that is not Amazon's, `AWS_REGION`, and
credentials in any of the ways that AWS knows, such as `AWS_ACCESS_KEY_ID` or the role of a machine.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.arrow import ArrowFSWrapper  # type: ignore[import-untyped]
from pyarrow.fs import S3FileSystem
from upath.implementations.cloud import S3Path
from upath.registry import register_implementation

SCHEME = "s3a"  # as Hadoop calls it
ENDPOINT, REGION = "AWS_ENDPOINT_URL", "AWS_REGION"
HANDED_ON = (ENDPOINT, REGION)  # to executors, which find credentials of their own


class _Objects(ArrowFSWrapper):  # type: ignore[misc]  # without types
    """The store, through Arrow: one request writes a file, and nothing of it is seen before."""

    protocol = SCHEME
    _parent = AbstractFileSystem.__dict__["_parent"]  # a path asks its class

    def __init__(self, **options: Any) -> None:
        endpoint = urlsplit(os.environ.get(ENDPOINT, ""))
        there = {"endpoint_override": endpoint.netloc, "scheme": endpoint.scheme}
        store = S3FileSystem(
            region=os.environ.get(REGION),
            allow_delayed_open=True,
            **(there if endpoint.netloc else {}),
        )
        super().__init__(store, **options)


class ObjectPath(S3Path):
    """A path in the store; picklable, and without a secret in it."""

    @classmethod
    def _fs_factory(cls, urlpath: str, protocol: str, storage_options: Mapping[str, Any]) -> Any:
        return _Objects()


register_implementation(SCHEME, ObjectPath, clobber=True)


def object_path(uri: str) -> Path:
    """Return the folder `s3a://BUCKET/…`; it has the methods of a `Path` that are used of it."""
    return cast(Path, ObjectPath(uri.rstrip("/")))


def hadoop_options(environment: Mapping[str, str]) -> dict[str, str]:
    """Return how Spark finds the same store, under its own names.

    Args:
        environment: Of this process.
    """
    endpoint, region = environment.get(ENDPOINT), environment.get(REGION)
    options = {
        # one request writes a file whole, and fails where another process was faster
        "spark.hadoop.fs.s3a.create.conditional.enabled": "true",
    }
    if region:
        options["spark.hadoop.fs.s3a.endpoint.region"] = region
    if endpoint:
        options |= {
            "spark.hadoop.fs.s3a.endpoint": endpoint,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": str(endpoint.startswith("https")).lower(),
        }
    handed_on = ((name, environment[name]) for name in HANDED_ON if name in environment)
    return options | {f"spark.executorEnv.{name}": value for name, value in handed_on}
