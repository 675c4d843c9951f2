"""A network that fails on demand: a TCP proxy before the broker, and a broker that names it."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum, auto
from pathlib import Path
from typing import NamedTuple

from tests.ports import free_ports
from verdict.adapters.local.broker import EmbeddedBroker

HERE = "127.0.0.1"
CHUNK = 1 << 16
# it looks for overdue transactions every half second, where others do every ten seconds
SOON_ABORTED = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
LENGTH, HEAD = 4, 6  # bytes of Kafka's protocol: a request begins with its length, then its kind
END_TXN = (26).to_bytes(HEAD - LENGTH, "big")


class Fault(StrEnum):
    """What the network does to requests and answers until it is healed."""

    DROP_REPLIES = auto()  # requests arrive, answers vanish
    BLACK_HOLE = auto()  # nothing arrives, nothing is refused
    HOLD_REQUESTS = auto()  # what is asked on old connections arrives when healed, however late
    CUT_REPLIES = auto()  # requests arrive, and instead of the answer the connection ends


class Proxy:
    """Forwards connections to a port of this machine; a context manager."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server((HERE, 0))
        self.address = f"{HERE}:{self._listener.getsockname()[1]}"
        self._connections: list[_Connection] = []
        self._lock = threading.Lock()
        self._fault: Fault | None = None
        self._armed: Fault | None = None
        self._failing = threading.Event()
        self._lost = threading.Event()
        self._healed = threading.Event()
        self._healed.set()
        self.late_answer = threading.Event()

    @property
    def fault(self) -> Fault | None:
        return self._fault

    def fail(self, fault: Fault) -> None:
        """Begin to do wrong, to old connections and new ones."""
        self._healed.clear()
        self._fault = fault
        if fault is Fault.HOLD_REQUESTS:
            with self._lock:
                for one in self._connections:
                    one.held = True
        self._failing.set()

    def fail_in_a_commit(self, fault: Fault) -> None:
        """Begin to do wrong with the next commit (or abort) of a transaction that comes by."""
        self._armed = fault

    def await_failing(self, seconds: float) -> bool:
        """Tell whether it does wrong, at the latest after so many seconds."""
        return self._failing.wait(seconds)

    def await_loss(self, seconds: float) -> bool:
        """Tell whether something was lost since it began, at the latest after so many seconds."""
        return self._lost.wait(seconds)

    def loses(self, one: "_Connection", *faults: Fault) -> bool:
        """Tell whether a piece is lost that comes by now, and note on whose connection.

        Who is healed in between would else wait for it as long as a client waits at most.
        """
        with self._lock:
            lost = self._fault in faults
            one.damaged |= lost
        if lost:
            self._lost.set()
        return lost

    def requested(self, kind: bytes) -> None:
        """See what somebody asks for, before it is handled."""
        if self._armed is not None and kind == END_TXN:
            fault, self._armed = self._armed, None
            self.fail(fault)

    def heal(self) -> None:
        """Do right again; what has lost something is cut, as the rest would make no sense."""
        with self._lock:
            for one in self._connections:
                one.late, one.held = one.held or one.late, False
                if one.damaged:
                    one.cut()
            self._fault = self._armed = None
        self._failing.clear()
        self._lost.clear()
        self._healed.set()

    def cut(self) -> None:
        with self._lock:
            connections = [*self._connections]
        for one in connections:
            one.cut()

    def await_healed(self) -> None:
        self._healed.wait()

    def await_late_answer(self, seconds: float) -> bool:
        """Tell whether the broker has answered a request that was held."""
        return self.late_answer.wait(seconds)

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.heal()
        for one in self._connections:
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                try:
                    broker = socket.create_connection((HERE, self._target))
                except OSError:  # it is down
                    client.close()
                    continue
                connection = _Connection(self, client, broker)
                with self._lock:
                    self._connections.append(connection)
                connection.start()


class _Connection:
    """One client's connection and the one to the broker that belongs to it."""

    def __init__(self, proxy: Proxy, client: socket.socket, broker: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._broker = broker
        self.damaged = False
        self.held = False
        self.late = False  # was held once; whoever waited may be gone
        self._begun = b""  # a request whose kind is not known yet
        self._rest = 0  # bytes of a request whose kind is

        self._threads = [
            threading.Thread(target=forward, daemon=True)
            for forward in (self._requests, self._replies)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self.cut()
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._broker.close()

    def cut(self) -> None:
        for end in (self._client, self._broker):
            with contextlib.suppress(OSError):  # it has ended already
                end.shutdown(socket.SHUT_RDWR)

    def _requests(self) -> None:
        for chunk in _chunks(self._client):
            for kind in self._kinds(chunk):
                self._proxy.requested(kind)
            if self._proxy.loses(self, Fault.BLACK_HOLE):
                continue
            if self.held:
                self._proxy.await_healed()
            with contextlib.suppress(OSError):
                self._broker.sendall(chunk)
        if not self.late:  # else the broker must not see the end of the connection
            self.cut()

    def _kinds(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the kind of each request that begins here: several may come in one piece."""
        behind = min(self._rest, len(chunk))
        self._rest -= behind
        self._begun += chunk[behind:]
        while len(self._begun) >= HEAD:
            yield self._begun[LENGTH:HEAD]
            whole = LENGTH + int.from_bytes(self._begun[:LENGTH], "big")
            self._rest = max(0, whole - len(self._begun))
            self._begun = self._begun[whole:]

    def _replies(self) -> None:
        for chunk in _chunks(self._broker):
            if self.late and self._proxy.fault is None:
                self._proxy.late_answer.set()
            if self._proxy.loses(self, Fault.CUT_REPLIES):
                break
            if self._proxy.loses(self, Fault.DROP_REPLIES, Fault.BLACK_HOLE):
                continue
            with contextlib.suppress(OSError):
                self._client.sendall(chunk)
        self.cut()


class ProxiedBroker(NamedTuple):
    """A broker with two doors; whoever comes in through the proxy's is always sent back there."""

    broker: EmbeddedBroker
    proxy: Proxy


@contextmanager
def proxied_broker(data_dir: Path) -> Iterator[ProxiedBroker]:
    """Run a broker whose second listener is reached through a proxy only."""
    port, controller, door = free_ports(3)
    with Proxy(door) as proxy:
        properties = {
            "listeners": f"PLAINTEXT://{HERE}:{{port}},CONTROLLER://{HERE}:{controller},"
            f"PROXIED://{HERE}:{door}",
            "controller.quorum.voters": f"1@{HERE}:{controller}",
            "advertised.listeners": f"PLAINTEXT://{HERE}:{{port}},PROXIED://{proxy.address}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
            "PROXIED:PLAINTEXT",
            **SOON_ABORTED,
        }
        with EmbeddedBroker(data_dir, port, properties) as broker:
            yield ProxiedBroker(broker, proxy)


def _chunks(end: socket.socket) -> Iterator[bytes]:
    """Yield what comes in until the connection ends."""
    with contextlib.suppress(OSError):
        while chunk := end.recv(CHUNK):
            yield chunk
