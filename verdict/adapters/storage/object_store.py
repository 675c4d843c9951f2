"""Folders in an object store that speaks S3's API, for hosts without a shared file system.

They are used as `pathlib.Path` is. Where the store is, and who we are there, every process takes
from AWS's own environment: `AWS_ENDPOINT_URL` of a store that is not Amazon's, `AWS_REGION`, and
credentials in any of the ways that AWS knows, such as `AWS_ACCESS_KEY_ID` or the role of a machine.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.arrow import ArrowFSWrapper  # type: ignore[import-untyped]
from pyarrow.fs import S3FileSystem
from upath.implementations.cloud import S3Path
from upath.registry import register_implementation

from verdict.errors import UnreachableError

ASKING = (
    "exists", "is_dir", "is_file", "stat", "iterdir", "glob", "rglob", "mkdir", "unlink",
    "read_text", "read_bytes", "write_text", "write_bytes", "remove_all",
)  # fmt: skip
TELLING = re.compile(r"AWS Error [^;]+")
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
    """A path in the store; picklable, and without a secret in it.

    What asks the store raises UnreachableError where that does not answer, or refuses: no
    `OSError`, which says of a file that it is damaged, or not there.
    """

    @classmethod
    def _fs_factory(cls, urlpath: str, protocol: str, storage_options: Mapping[str, Any]) -> Any:
        return _Objects()

    def remove_all(self) -> None:
        """Remove all that is below this path, if anything is."""
        with suppress(FileNotFoundError):
            self.fs.rm(self.path, recursive=True)


def _answered(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def asked(path: ObjectPath, *arguments: Any, **named: Any) -> Any:
        try:
            found = method(path, *arguments, **named)
            return iter([*found]) if isinstance(found, Iterator) else found
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError as error:
            raise not_answered(path, error) from error

    return asked


for _name in ASKING:
    setattr(ObjectPath, _name, _answered(getattr(ObjectPath, _name)))
register_implementation(SCHEME, ObjectPath, clobber=True)


def not_answered(path: object, error: object) -> UnreachableError:
    """Return the error for a store that does not let us at a path."""
    endpoint = os.environ.get(ENDPOINT, "that of Amazon")
    found = TELLING.search(str(error))  # without the key and the bucket, which Arrow repeats
    said = found[0] if found else str(error)[:200] or type(error).__name__
    return UnreachableError(
        f"the object store ({endpoint}) does not let us at {path} ({said}): see that it runs, that "
        f"the bucket is there, and that {ENDPOINT}, {REGION} and the credentials in the "
        "environment are right"
    )


def object_path(uri: str) -> Path:
    """Return the folder `s3a://BUCKET/…`; it has the methods of a `Path` that are used of it."""
    return cast(Path, ObjectPath(uri.rstrip("/")))


def hadoop_options(environment: Mapping[str, str]) -> dict[str, str]:
    """Return how Spark finds the same store, under its own names."""
    endpoint, region = environment.get(ENDPOINT), environment.get(REGION)
    options = {
        # about ten seconds, instead of some minutes, until it is known that a store is away
        "spark.hadoop.fs.s3a.attempts.maximum": "2",
        "spark.hadoop.fs.s3a.retry.limit": "3",
        "spark.hadoop.fs.s3a.connection.establish.timeout": "5s",
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
