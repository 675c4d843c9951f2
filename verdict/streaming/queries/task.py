"""What a task knows of the batch that it is of; asked in its Python worker."""

from pathlib import Path

from pyspark import TaskContext

from verdict.streaming.exactly_once.checkpoint_files import planned_ms

BATCH = "streaming.sql.batchId"  # Spark's own, among the local properties of a batch's jobs


def planned_at(checkpoint: Path) -> int:
    """Return when the batch of this task was planned, in epoch milliseconds; a replay keeps it.

    The task's own batch, and not the one planned last: a worker that was paused may wake up behind
    later ones, and what it then writes must be what it would have written.

    Raises:
        DamagedCheckpointError: A file is missing, cut off or unknown; the message names it.
        LookupError: No streaming query runs this task.
    """
    task = TaskContext.get()
    batch = None if task is None else task.getLocalProperty(BATCH)
    if batch is None:
        raise LookupError(f"{BATCH} is not known here: this is no task of a streaming query")
    return planned_ms(checkpoint, int(batch))
