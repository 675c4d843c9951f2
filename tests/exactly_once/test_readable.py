"""What is read next must still be in Kafka: a planned batch, or all after the progress record."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from tests.exactly_once.deployment import BATCH_SIZE, SPARK_QUERY, Deployment
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.checkpoint import CheckpointPosition
from verdict.streaming.exactly_once.fencing import genesis
from verdict.streaming.exactly_once.log_identity import check_readable


def check(deployment: Deployment, checkpoint: CheckpointPosition, reached: int = 0) -> bool:
    """Check what is read next after a progress record at this offset of the first partition.

    Return whether there is more than a planned batch takes.
    """
    new = genesis(deployment.query, None, {deployment.commands: [reached, 0]}, 2)
    progress = replace(new, query_id=SPARK_QUERY, batch_id=0)
    return check_readable(deployment.query, deployment.kafka, progress, checkpoint)


@pytest.mark.proves("C-17", "G-01")
@pytest.mark.parametrize(
    ("sent", "dropped", "reached", "problem"),
    [
        (BATCH_SIZE, 0, None, None),
        (1, 0, None, "offset 0 to 9, and Kafka has offsets 0 to 0"),
        (BATCH_SIZE, BATCH_SIZE, None, "Kafka has nothing.*run `verdict recover`"),
        (BATCH_SIZE, BATCH_SIZE, BATCH_SIZE, None),
        (3, 2, 2, None),
        (3, 2, 1, ":0 from offset 1 on, and Kafka has offsets 2 to 2"),
        (3, 0, 4, ":0 from offset 4 on, and Kafka has offsets 0 to 2"),
    ],
    ids=["planned", "end lost", "beginning dropped", "done", "undecided", "undecided dropped",
         "decided lost"],
)  # fmt: skip
def test_a_start_needs_the_planned_batch_or_all_after_the_progress_record(
    deployment: Deployment, sent: int, dropped: int, reached: int | None, problem: str | None
) -> None:
    """Else the service says `ready`, and ends when Spark has looked for the records for minutes."""
    for _ in range(sent):
        deployment.send(deployment.commands, b"a command")
    if dropped:
        deployment.delete(deployment.commands, 0, dropped)
    checkpoint = deployment.checkpoint(0, committed=reached is not None)

    with nullcontext() if problem is None else pytest.raises(VerdictError, match=problem):
        assert check(deployment, checkpoint, reached or 0) is (sent > (reached or BATCH_SIZE))
