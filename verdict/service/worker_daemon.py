"""PySpark's daemon, with the imports that all of its workers need: they are forked from it.

    python -m verdict.service.worker_daemon pyspark.worker

PySpark imports after the fork, because pandas and pyarrow may start threads when they are imported,
which a fork would lose. Each worker takes a second for that. Here they start no threads.
"""

import gc
import os
from importlib import import_module

from pyspark.daemon import manager

NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
IMPORTED = (
    "pyspark.worker",
    "verdict.write_side.processor.processor",
    "verdict.write_side.state.log_structured",
    "verdict.reactions.policies.reaction_task",
)


def import_all() -> None:
    """Import what workers need, and keep it from their garbage collector."""
    os.environ.update(NO_THREADS)
    for module in IMPORTED:
        import_module(module)
    gc.freeze()


if __name__ == "__main__":
    import_all()
    manager()
