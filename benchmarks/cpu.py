"""The processor time of a service by process."""

import os
from contextlib import suppress

import psutil

KINDS = {
    "kafka.Kafka": "broker",
    "pyspark-shell": "Spark's JVM",
    "pyspark.daemon": "Python workers",
    "verdict.service.worker_daemon": "Python workers",
    "runner_process": "projections",
    "CoarseGrainedExecutorBackend": "executors",
    "org.apache.spark.deploy": "master and workers",
}


def cpu_by_process(pid: int | None = None) -> dict[str, float]:
    """Return the seconds of processor time that each kind of process of a service has used.

    A process that ended counts for its parent, as the system counts it.
    """
    used: dict[str, float] = {}
    _add(psutil.Process(pid or os.getpid()), "driver", used)
    return used


def _add(process: psutil.Process, parent: str, used: dict[str, float]) -> None:
    with suppress(psutil.NoSuchProcess):  # it has ended just now, and is its parent's next time
        kind, times = _kind(process, parent), process.cpu_times()
        ended = times.children_user + times.children_system
        used[kind] = used.get(kind, 0.0) + times.user + times.system + ended
        for child in process.children():
            _add(child, kind, used)


def _kind(process: psutil.Process, parent: str) -> str:
    if process.status() == psutil.STATUS_ZOMBIE:
        return parent
    line = " ".join(process.cmdline())
    return next((kind for mark, kind in KINDS.items() if mark in line), parent)
