"""Moments at which tests kill a process, and benchmarks measure it."""

from collections.abc import Callable
from enum import StrEnum, auto


class Failpoint(StrEnum):
    """A moment in the life of an owner; what is named has just happened."""

    PROGRESS_READ = auto()  # claim: no other process has been disturbed yet
    INITIALISED = auto()  # claim: the former owner is fenced
    CLAIM_SENT = auto()  # claim: the new progress record is in Kafka, uncommitted
    CLAIMED = auto()  # claim: the progress record names this owner
    FILES_WRITTEN = auto()  # lake: all of a batch, where no reader looks
    FORMER_AWAY = auto()  # lake: what a killed process left of this batch is out of the way
    OUTPUT_COMPUTED = auto()  # publish: nothing has been sent yet
    TRANSACTION_OPEN = auto()  # publish: outputs and progress record are in Kafka, uncommitted
    BEFORE_COMMIT = auto()  # publish: the group's offsets too
    COMMITTED = auto()  # publish: the transaction is committed
    SKIPPED = auto()  # publish: the batch had been published before
    IN_DOUBT = auto()  # claim, publish: only the progress record knows who owns and what is there
    STILL_OWNER = auto()  # publish: the progress record names us, nothing is fenced again yet
    LETTERS_CLAIMED = auto()  # dead letters: a batch is chosen, nothing is sent yet
    LETTERS_SENT = auto()  # dead letters: Kafka has committed, the table still has them


OnStep = Callable[[Failpoint], None]
ProgressCallback = Callable[[str], None]
"""Takes a sentence for the person who waits."""


def ignore_step(_: object) -> None:
    """Observe nothing."""
