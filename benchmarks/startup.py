"""`verdict up` with its own broker: how long it takes to start, and what it takes when idle."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.cpu import cpu_by_process
from benchmarks.results import Result
from benchmarks.workload import placing
from tests.application import APPLICATION
from tests.kit.service import ROOT, VERDICT, await_ready, stop
from verdict.client.client import Client

SETTLED_S = 90  # Spark ends Python workers that had nothing to do for a minute
IDLE_S = 60
MIB = 2**20


def startup(folder: Path) -> Iterator[Result]:
    """Yield the seconds to `ready` and to the first outcome: on a new directory, then again."""
    for start in ("first", "second"):
        began = time.monotonic()
        with _service(folder / "startup"):
            ready_s = time.monotonic() - began
            _await_first_outcome(folder / "startup", start)
            outcome_s = time.monotonic() - began
        yield {
            "what": "start",
            "start": start,
            "ready_s": round(ready_s, 1),
            "first_outcome_s": round(outcome_s, 1),
        }


def idle(folder: Path) -> Iterator[Result]:
    """Yield the share of a core that each kind of process takes, and what all hold in memory."""
    with _service(folder / "idle") as service:
        time.sleep(SETTLED_S)
        before = cpu_by_process(service.pid)
        time.sleep(IDLE_S)
        after = cpu_by_process(service.pid)
        memory = _memory(service.pid)
    shares = {kind: (used - before.get(kind, 0.0)) / IDLE_S for kind, used in after.items()}
    percent = {f"{kind} %": round(share * 100, 1) for kind, share in shares.items()}
    together = round(sum(shares.values()) * 100, 1)
    yield {"what": "idle", **percent, "together %": together, "MiB": round(memory / MIB)}


@contextmanager
def _service(data_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run `verdict up`, ready."""
    environment = os.environ | {"VERDICT_DATA_DIR": str(data_dir)}
    with subprocess.Popen(
        [VERDICT, "up"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as service:
        try:
            await_ready(service)
            yield service
            stop(service)
        finally:
            service.kill()


def _await_first_outcome(data_dir: Path, order_id: str) -> None:
    servers = json.loads((data_dir / "verdict.json").read_text())["bootstrap_servers"]
    with Client(APPLICATION, servers) as client:
        client.send(order_id, placing(1), expected_version=0).wait(timeout_s=60)


def _memory(pid: int) -> int:
    """Return the bytes that a service has in memory; what processes share counts once."""
    service = psutil.Process(pid)
    return sum(
        int(one.memory_full_info().pss) for one in (service, *service.children(recursive=True))
    )
