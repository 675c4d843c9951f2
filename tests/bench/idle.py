"""What `verdict up` takes while nobody sends: processor time and memory, by process."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.bench.cpu import cpu_by_process
from tests.e2e.deployment import ROOT, VERDICT, await_ready, stop

SETTLED_S = 90  # Spark ends Python workers that had nothing to do for a minute
LOOK_S = 60
MIB = 2**20


def idle(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the share of a core that each kind of process takes, and what all hold in memory."""
    service = subprocess.Popen(
        [VERDICT, "up"],
        cwd=ROOT,
        env=os.environ | {"VERDICT_DATA_DIR": str(folder / "idle")},
        stdout=subprocess.PIPE,
        text=True,
    )
    with service:
        try:
            await_ready(service)
            time.sleep(SETTLED_S)
            before = cpu_by_process(service.pid)
            time.sleep(LOOK_S)
            after = cpu_by_process(service.pid)
            held = _held(service.pid)
            stop(service)
        finally:
            service.kill()
    shares = {kind: (used - before.get(kind, 0.0)) / LOOK_S for kind, used in after.items()}
    told = {f"{kind} %": round(share * 100, 1) for kind, share in shares.items()}
    together = round(sum(shares.values()) * 100, 1)
    yield {"what": "idle", **told, "together %": together, "MiB": round(held / MIB)}


def _held(pid: int) -> int:
    """Return the bytes that a service has in memory; what processes share counts once."""
    service = psutil.Process(pid)
    return sum(
        int(one.memory_full_info().pss) for one in (service, *service.children(recursive=True))
    )
