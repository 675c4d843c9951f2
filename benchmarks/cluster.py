"""What a cluster costs for each command, against the same decider on one machine, in one run.

The cluster is a standalone master with two workers of one core on this machine, so both have the
same cores; what differs is that tasks and their outputs leave the driver's process.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.measurement import fill_orders, run_decider, settings_for
from benchmarks.results import Result
from benchmarks.workload import AGGREGATES, SEED, commands
from tests.e2e.cluster import HERE
from tests.e2e.cluster import cluster as spark_cluster
from tests.kit.service import ROOT

OF_DRIVER = "driver"
ELSEWHERE = ("Python workers", "executors")  # more cores do more of it
CORES = (8, 32, 128)


def cluster(
    servers: str, folder: Path, count: int, rows: list[int], shards: int
) -> Iterator[Result]:
    """Yield the rate on one machine and on a cluster, then what more cores would give."""
    for size in rows:
        varied: dict[str, Any] = {"max_rows_per_batch": size, "shards": shards}
        result: Result = {"what": "cluster", **varied}
        with ExitStack() as held:
            made = held.enter_context(
                spark_cluster(folder / f"spark-{size}", {"PYTHONPATH": str(ROOT)})
            )
            here = {"driver.host": HERE, "driver.bindAddress": HERE}
            there = {"spark_master": made.url, "shared_dir": folder / f"shared-{size}"}
            for where, more in {"local": {}, "cluster": there | {"spark": here}}.items():
                if where == "cluster":
                    made.worker()
                    made.worker()
                settings = settings_for(servers, folder, f"{where}-{size}", **varied, **more)
                fill_orders(settings, commands(count, AGGREGATES, False, SEED))
                result |= {f"{where}_{k}": v for k, v in run_decider(settings, count).items()}
        together = [sum(result[f"{where}_cpu_us"].values()) for where in ("cluster", "local")]
        yield result | {"cost_of_the_cluster": round(together[0] / together[1], 2)}
        yield from (_foreseen(result["cluster_cpu_us"], size, cores) for cores in CORES)


def _foreseen(cpu_us: dict[str, int], rows: int, cores: int) -> Result:
    """Return what so many cores of workers would decide.

    Assumed: tasks take what they take here, shards are as many as cores, Kafka is no bound, and
    the driver's Python has one core, as it has one thread that publishes.
    """
    of_workers = sum(cpu_us.get(kind, 0) for kind in ELSEWHERE)
    bounds = {"workers": cores * 1e6 / of_workers, "driver": 1e6 / cpu_us[OF_DRIVER]}
    bound = min(bounds, key=lambda name: bounds[name])
    return {
        "what": "foreseen", "max_rows_per_batch": rows, "cores": cores,
        "commands_per_s": round(bounds[bound], -2), "bound_by": bound,
    }  # fmt: skip
