"""Whether the largest batch that the settings allow can be handled at all; asked at the start.

Memory is not the question: whatever senders send, workers decide a batch in slices of bounded bytes
and hand it over in files. Its bytes lie on the disk, and go to Kafka in one transaction.
"""

import math
from shutil import disk_usage

from compose.errors import VerdictError
from compose.settings import Settings

MIB = 2**20
COPIES = 3  # on the disk at a time: Spark's shuffle, what waits to be decided, what was decided
# What one producer and a broker on the same two cores did, with room for a slower disk. A batch
# that takes longer than its transaction may would be tried again at every start, for ever.
PUBLISHED_PER_S = 100 * MIB


class BatchTooLarge(VerdictError):
    """A batch of the greatest commands could never be published, and would stop everything."""

    exit_code = 2


def check_batch_size(settings: Settings) -> None:
    """Return if a full batch of commands of the greatest size can be handled.

    Args:
        settings: Of which `data_dir` exists.

    Raises:
        BatchTooLarge: Names both settings, what they come to, and what to do.
    """
    rows, limit = settings.max_rows_per_batch, settings.command_limit_bytes
    whole = rows * limit
    product = f"max_rows_per_batch {rows} x command_limit_bytes {limit} = {_mib(whole)} a batch"
    seconds = math.ceil(whole / PUBLISHED_PER_S)
    if seconds > settings.transaction_timeout_s:
        fitting = settings.transaction_timeout_s * PUBLISHED_PER_S
        raise BatchTooLarge(
            f"{product}, and publishing that takes about {seconds} s in one transaction: "
            f"transaction_timeout_s is {settings.transaction_timeout_s}; raise it to {seconds}, or "
            f"lower max_rows_per_batch to {max(fitting // limit, 1)} or command_limit_bytes to "
            f"{max(fitting // rows, 1)}"
        )
    free = disk_usage(settings.data_dir).free
    if whole * COPIES > free:
        raise BatchTooLarge(
            f"{product}, and {settings.data_dir} must hold that {COPIES} times while it is "
            f"decided: {_mib(whole * COPIES)} are needed, {_mib(free)} are free; make room, lower "
            "max_rows_per_batch or lower command_limit_bytes"
        )


def _mib(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"
