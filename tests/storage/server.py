"""An object store with S3's API, as a process: SeaweedFS."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pyarrow.fs import S3FileSystem

from tests.e2e.secured.broker import HOST, free_ports

WEED = str(Path(sys.executable).with_name("weed"))
PARTS = ("master", "volume", "filer", "s3")
READY_S = 60
KEY, SECRET = "tests", "only for tests"
ALLOWED = ["Admin", "Read", "List", "Tagging", "Write"]
BUCKET = "verdict"


class Store(NamedTuple):
    """A store that runs; `environment` says where and who we are, as AWS's tools take it."""

    process: "subprocess.Popen[bytes]"
    environment: Mapping[str, str]


@contextmanager
def object_store(folder: Path) -> Iterator[Store]:
    """Give a store with one empty bucket, which keeps its files in `folder`."""
    folder.mkdir(parents=True)
    who = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}]}
    config = folder / "identities.json"
    config.write_text(json.dumps({"identities": [who | {"actions": ALLOWED}]}))
    ports = free_ports(2 * len(PARTS))  # and none of those that are the same everywhere
    listening = [f"-{part}.port{kind}={ports.pop()}" for part in PARTS for kind in ("", ".grpc")]
    at = next(one.partition("=")[2] for one in listening if one.startswith("-s3.port="))
    command = [
        *(WEED, "server", "-s3", f"-s3.config={config}", f"-ip={HOST}", f"-dir={folder}"),
        *(
            "-s3.allowEmptyFolder=false",
            "-s3.port.lance=0",
            "-s3.port.iceberg=0",
            "-master.volumeSizeLimitMB=64",
            "-volume.max=16",
            *listening,
        ),
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            _make_bucket(f"{HOST}:{at}", folder / "log")
            environment = {
                "AWS_ENDPOINT_URL": f"http://{HOST}:{at}",
                "AWS_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            yield Store(process, environment)
        finally:
            process.kill()


def _make_bucket(endpoint: str, log: Path) -> None:
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"  # else Arrow asks a machine of Amazon's
    deadline = time.monotonic() + READY_S
    while True:
        try:
            store = S3FileSystem(
                access_key=KEY, secret_key=SECRET, region="us-east-1", scheme="http",
                endpoint_override=endpoint, allow_bucket_creation=True,
            )  # fmt: skip
            store.create_dir(BUCKET)
            with store.open_output_stream(f"{BUCKET}/.ready") as file:
                file.write(b"yes")
            store.delete_file(f"{BUCKET}/.ready")
            return
        except OSError:
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.2)
