"""The network of the tests itself: it loses nothing behind its own back."""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.exactly_once.proxy import HERE, Fault, Proxy

TIMES = 500
HANGS_S = 5


@pytest.fixture
def echo() -> Iterator[int]:
    """Return the port of who sends back whatever is sent, on each connection."""

    def answer(one: socket.socket) -> None:
        with one:
            while piece := one.recv(100):
                one.sendall(piece)

    def accept() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=answer, args=(one,), daemon=True).start()

    with socket.create_server((HERE, 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def restless() -> Iterator[None]:
    """Let threads take turns so often that each falls into the midst of the other."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_whoever_has_lost_something_is_cut_off_when_the_network_heals(echo: int) -> None:
    """Nobody waits for an answer that will not come; it may be lost in the very moment."""
    with Proxy(echo) as network:
        port = int(network.address.rpartition(":")[2])
        for pieces in range(TIMES):
            with socket.create_connection((HERE, port), timeout=HANGS_S) as client:
                client.sendall(b"first")
                assert client.recv(100) == b"first"
                network.fail(Fault.DROP_REPLIES)
                client.sendall(b"second")
                [network.fault for _ in range(pieces)]  # another moment each time
                network.heal()
                with suppress(ConnectionResetError):
                    assert client.recv(100) in (b"second", b"")
