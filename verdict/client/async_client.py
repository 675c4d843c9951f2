"""The client for asyncio: send a command, and await its outcome."""

import asyncio
from contextlib import suppress
from functools import cached_property, partial
from typing import Unpack

from verdict.client.connection import Connection, Outgoing
from verdict.client.errors import NotDeliveredError
from verdict.client.pending import Pending
from verdict.model.command import Command
from verdict.model.command_envelope import CommandInfo, Expected
from verdict.wire.response import Response

OUTCOME_S = 30.0
FULL_S = 0.01


class AsyncClient(Connection):
    """As `Client`, for the tasks of one event loop, which it never blocks.

    Commands of one aggregate are decided in the order of the calls of `send`. A task that is
    cancelled, or whose time is over, awaits the outcome no longer. The command may be decided: send
    it again with the same command id.

        async with AsyncClient(app, "localhost:9092") as client:
            order = PlaceOrder(client="ada", ticker="AAPL", side="BUY", quantity=5, ...)
            outcome = await client.send("order-1", order, expected_version=0, timeout_s=5)
    """

    @cached_property
    def _turn(self) -> asyncio.Lock:
        """This lock keeps the order: it is fair."""
        return asyncio.Lock()

    async def send(
        self,
        aggregate_id: str,
        command: Command,
        expected_version: Expected,
        *,
        timeout_s: float = OUTCOME_S,
        **about: Unpack[CommandInfo],
    ) -> Response:
        """Send a command, and return its outcome; arguments and errors are those of `Client.send`.

        The wait begins when the command is sent, and ends after `timeout_s` seconds.

        Raises:
            OutcomeUnknownError, NotDeliveredError, UnreadableResponsesError: As `Pending.wait`;
                send the command again with the `command_id` of the error.
        """
        outgoing = self._outgoing(aggregate_id, command, expected_version, **about)
        return await self._outcome(outgoing, timeout_s)

    async def send_encoded(
        self,
        aggregate_type: str,
        aggregate_id: str,
        command_id: str,
        value: bytes,
        *,
        timeout_s: float = OUTCOME_S,
    ) -> Response:
        """Send bytes that are already a command; see `Client.send_encoded` and `send`."""
        outgoing = self._encoded(aggregate_type, aggregate_id, command_id, value)
        return await self._outcome(outgoing, timeout_s)

    async def flush(self, timeout_s: float | None = None) -> None:
        """Return when Kafka has acknowledged everything that was sent; see `Client.flush`."""
        await asyncio.to_thread(self._flush, timeout_s)

    async def close(self) -> None:
        """Flush, and stop reading, as `Client.close`; a cancelled task does not stop it."""
        if self._begin_closing():
            await asyncio.to_thread(self._close)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self.close()
        except NotDeliveredError:
            if error is None:  # else the error of the block matters more
                raise

    async def _outcome(self, outgoing: Outgoing, timeout_s: float) -> Response:
        async with self._turn:
            if not self._follows(outgoing):
                await asyncio.to_thread(self._follow, outgoing)
            while not self._put(outgoing):
                await asyncio.sleep(FULL_S)  # the client's thread makes room
        await _done(outgoing.pending, timeout_s)
        return outgoing.pending.outcome_after(timeout_s)


async def _done(pending: Pending, timeout_s: float) -> None:
    """Return when there is an outcome, when none can come any more, or after the time."""
    arrived = asyncio.Event()
    pending.when_done(partial(_tell, asyncio.get_running_loop(), arrived))
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await arrived.wait()


def _tell(loop: asyncio.AbstractEventLoop, arrived: asyncio.Event) -> None:
    """Wake up the loop, from the thread of the client."""
    try:
        loop.call_soon_threadsafe(arrived.set)
    except RuntimeError:
        if not loop.is_closed():  # else nothing awaits it any more
            raise
