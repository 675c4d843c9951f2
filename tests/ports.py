"""Ports for what tests start."""

import socket
from contextlib import ExitStack

HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that are free now.

    All that one broker listens on are asked for at once: one that is asked for later may be the
    same as an earlier one that is not in use yet.
    """
    with ExitStack() as held:
        taken = [held.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in taken]
