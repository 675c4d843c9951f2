"""An object store with S3's API, as a process: SeaweedFS."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyarrow.fs import S3FileSystem

from tests.ports import HOST, free_ports

WEED = str(Path(sys.executable).with_name("weed"))
PARTS = ("master", "volume", "filer", "s3")
# which would be taken on every machine at the same place
NONE = ("-s3.port.lance=0", "-s3.port.iceberg=0")
READY_S = 60
KEY, SECRET = "tests", "only for tests"
BUCKET = "verdict"


class Store:
    """A store that keeps its files in a folder; started as often as one likes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        who = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}]}
        allowed = {"actions": ["Admin", "Read", "List", "Tagging", "Write"]}
        config = folder / "identities.json"
        config.write_text(json.dumps({"identities": [who | allowed]}))
        ports = free_ports(2 * len(PARTS))
        names = [f"-{part}.port{kind}" for part in PARTS for kind in (".grpc", "")]
        listening = [f"{name}={port}" for name, port in zip(names, ports, strict=True)]
        self._command = [
            *(WEED, "server", "-s3", f"-s3.config={config}", f"-ip={HOST}", f"-dir={folder}"),
            *("-master.volumeSizeLimitMB=64", "-volume.max=16", *NONE, *listening),
        ]
        self._endpoint, self._log = f"{HOST}:{ports[-1]}", folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://{self._endpoint}",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",  # else Arrow asks a machine of Amazon's
        }

    def start(self) -> None:
        """Return when it takes files into its bucket."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stderr=log)
        deadline = time.monotonic() + READY_S
        while not self._takes_files():
            assert time.monotonic() < deadline, self._log.read_text()[-2000:]
            time.sleep(0.2)

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _takes_files(self) -> bool:
        os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
        try:
            store = S3FileSystem(
                access_key=KEY, secret_key=SECRET, region="us-east-1", scheme="http",
                endpoint_override=self._endpoint, allow_bucket_creation=True,
            )  # fmt: skip
            store.create_dir(BUCKET)
            with store.open_output_stream(f"{BUCKET}/.ready") as file:
                file.write(b"yes")
            store.delete_file(f"{BUCKET}/.ready")
        except OSError:
            return False
        return True


@contextmanager
def object_store(folder: Path) -> Iterator[Store]:
    """Give a store that runs, with one empty bucket; it is killed at the end."""
    store = Store(folder)
    store.start()
    try:
        yield store
    finally:
        store.kill()
