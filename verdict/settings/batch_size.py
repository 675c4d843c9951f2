"""Whether the largest batch that the settings allow can be handled at all; asked at the start.

Memory is not the question: whatever senders send, workers decide a batch in slices of bounded bytes
and hand it over in files. Its bytes lie on the disk, and go to Kafka in one transaction.
"""

import math
from shutil import disk_usage

from verdict.errors import VerdictError
from verdict.settings.settings import Settings

MIB = 2**20
COPIES = 3  # on the disk at a time: Spark's shuffle, what waits to be decided, what was decided
# What one producer and a broker on the same two cores did, with room for a slower disk. A batch
# that takes longer than its transaction may would be tried again at every start, for ever.
PUBLISHED_PER_S = 100 * MIB
LONGEST_S = 900  # that brokers grant to a transaction by default


class BatchSizeError(VerdictError):
    """A batch of the greatest commands could never be published, and would stop everything."""

    exit_code = 2


def transaction_timeout_s(settings: Settings) -> int:
    """Return how long a transaction may take: as it is set, or as a full batch needs if longer."""
    return max(settings.transaction_timeout_s, math.ceil(_whole(settings) / PUBLISHED_PER_S))


def check_batch_size(settings: Settings) -> None:
    """Return if a full batch of commands of the greatest size can be handled.

    Raises:
        BatchSizeError: Names both settings, what they come to, and what to do.
    """
    rows, limit, whole = settings.max_rows_per_batch, settings.max_command_bytes, _whole(settings)
    product = f"max_rows_per_batch {rows} x max_command_bytes {limit} = {_mib(whole)} a batch"
    seconds = math.ceil(whole / PUBLISHED_PER_S)
    if seconds > LONGEST_S:
        fitting = LONGEST_S * PUBLISHED_PER_S
        raise BatchSizeError(
            f"{product}, and publishing that takes about {seconds} s in one transaction, of which "
            f"Kafka allows {LONGEST_S}: lower max_rows_per_batch to {max(fitting // limit, 1)} or "
            f"max_command_bytes to {max(fitting // rows, 1)}"
        )
    if settings.in_object_store:
        return  # which says of no room
    # where commands wait to be decided and outputs to be published, on a cluster that all share
    folder = settings.durable_dir
    folder.mkdir(parents=True, exist_ok=True)
    free = disk_usage(folder).free
    if whole * COPIES > free:
        raise BatchSizeError(
            f"{product}, and {folder} must hold that {COPIES} times while it is "
            f"decided: {_mib(whole * COPIES)} are needed, {_mib(free)} are free; make room, lower "
            "max_rows_per_batch or lower max_command_bytes"
        )


def _whole(settings: Settings) -> int:
    return settings.max_rows_per_batch * settings.max_command_bytes


def _mib(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"
