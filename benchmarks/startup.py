"""`verdict up` with its own broker: how long it takes to start, and what it takes when idle."""

import json
import os
import subprocess
import sys
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
    """Yield each start of the service next to a bare one: a new directory, a stop, a kill."""
    service, bare = folder / "startup", folder / "bare"
    for start in ("new", "existing", "killed"):
        bare_s, bare_cpu_s = _bare_start(bare)
        ready_s, outcome_s, cpu_s = _start(service, start, end=start != "existing")
        yield {
            "what": "start",
            "start": start,
            "bare_s": round(bare_s, 1),
            "bare_cpu_s": bare_cpu_s,
            "ready_s": round(ready_s, 1),
            "ready_cpu_s": round(cpu_s, 1),
            "first_outcome_s": round(outcome_s, 1),
            "first_outcome_to_bare": round(outcome_s / bare_s, 2),
        }


def _bare_start(data_dir: Path) -> tuple[float, float]:
    """Return the seconds to the first record, and the processor time until then."""
    began = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.bare_start", str(data_dir)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as bare:
        assert bare.stdout is not None
        cpu_s = float(bare.stdout.readline())  # else it says on stderr why it did not start
        return time.monotonic() - began, cpu_s


def _start(data_dir: Path, order_id: str, *, end: bool) -> tuple[float, float, float]:
    """Return the seconds to `ready` and to the first outcome, and processor time until `ready`.

    Without `end` the service is killed.
    """
    began = time.monotonic()
    with _service(data_dir, end=end) as service:
        ready_s, cpu = time.monotonic() - began, cpu_by_process(service.pid)
        _await_first_outcome(data_dir, order_id)
        return ready_s, time.monotonic() - began, sum(cpu.values())


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
def _service(data_dir: Path, *, end: bool = True) -> Iterator["subprocess.Popen[str]"]:
    """Run `verdict up`, ready; end it cleanly afterwards, or kill it."""
    environment = os.environ | {"VERDICT_DATA_DIR": str(data_dir)}
    with subprocess.Popen(
        [VERDICT, "up"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as service:
        try:
            await_ready(service)
            yield service
            if end:
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
