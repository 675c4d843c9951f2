"""A client's tasks against a model: each ends once, as the model says, and nothing is left."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.client.test_pending import ABOUT, place, response_at
from verdict.client import async_client
from verdict.client.async_client import AsyncClient
from verdict.client.connection import Outgoing
from verdict.client.errors import NotDeliveredError, OutcomeUnknownError, UnreadableResponsesError
from verdict.client.pending import Pending, PendingError
from verdict.client.pending_commands import PendingCommands
from verdict.wire.response import Response

FOR_EVER = 1e6


class Desk(AsyncClient):
    """A client without Kafka: what Kafka does is what a test says."""

    def __init__(self, followed: bool = True) -> None:
        self.waiting = PendingCommands()
        self.full = False
        self.followed = followed
        self.sent: deque[Pending] = deque()
        self.order: list[str] = []
        self.asked: Callable[[], object] = lambda: None

    def _encoded(self, kind: str, name: str, command_id: str, value: bytes) -> Outgoing:
        pending = Pending(kind, name, command_id, PendingError(), self.waiting.held)
        return Outgoing(pending, value)

    def _follows(self, outgoing: Outgoing) -> bool:
        return self.followed

    def _follow(self, outgoing: Outgoing) -> None:
        self.asked()
        self.followed = True

    def _put(self, outgoing: Outgoing) -> bool:
        if self.full:
            return False
        self.waiting.add(outgoing.pending)
        self.sent.append(outgoing.pending)
        self.order.append(outgoing.pending.command_id)
        return True

    def _begin_closing(self) -> bool:
        return True

    def _close(self) -> None:
        self.waiting.fail(OutcomeUnknownError("the client was closed"))

    async def ask(self, command_id: str = "a", timeout_s: float = 30.0) -> Response:
        return await self.send_encoded("order", "o-1", command_id, b"", timeout_s=timeout_s)


class Tasks(RuleBasedStateMachine):
    """Tasks that send to one aggregate, and a Kafka that takes, loses, answers, and fails.

    What the model says of a command is how its task must have ended; None: it must still wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_once = patch.object(async_client, "FULL_S", 0)
        self.at_once.start()
        self.loop = asyncio.new_event_loop()
        self.desk = Desk()
        self.tasks: list[asyncio.Task[Response]] = []
        self.patient: list[bool] = []
        self.fates: list[str | None] = []
        self.queued: list[int] = []
        self.sent: list[int] = []  # a command's place here is its offset
        self.unacknowledged: list[int] = []
        self.answered: set[int] = set()
        self.failed = False

    @rule(patient=st.booleans())
    def send(self, patient: bool) -> None:
        number = len(self.tasks)
        sending = self.desk.ask(str(number), FOR_EVER if patient else 0)
        self.tasks.append(self.loop.create_task(sending))
        self.patient.append(patient)
        self.fates.append(None)
        self.queued.append(number)

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self._sent()
        number = data.draw(st.sampled_from(range(len(self.tasks))))
        self.tasks[number].cancel()
        if number in self.queued:
            self.queued.remove(number)
        self._end(number, "CancelledError")

    @rule()
    def fill_or_empty_the_queue(self) -> None:
        self._sent()
        self.desk.full = not self.desk.full

    @precondition(lambda self: self.unacknowledged)
    @rule()
    def acknowledge(self) -> None:
        self._settle()
        number = self.unacknowledged.pop(0)
        offset = self.sent.index(number)
        self.desk.waiting.place(self.desk.sent.popleft(), place(offset))
        if offset in self.answered:
            self._end(number, f"answered at {offset}")
        elif self.failed:
            self._end(number, "UnreadableResponsesError")

    @precondition(lambda self: self.unacknowledged)
    @rule()
    def lose(self) -> None:
        self._settle()
        self.desk.waiting.lose(self.desk.sent.popleft(), NotDeliveredError("lost"))
        self._end(self.unacknowledged.pop(0), "NotDeliveredError")

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        """Perhaps for the second time, perhaps before it is acknowledged."""
        self._settle()
        offset = data.draw(st.sampled_from(range(len(self.sent))))
        self.desk.waiting.answer(ABOUT, response_at(offset))
        number = self.sent[offset]
        if number not in self.unacknowledged:
            self._end(number, f"answered at {offset}")
        self.answered.add(offset)

    @rule()
    def fail(self) -> None:
        self._settle()
        self.desk.waiting.fail(UnreadableResponsesError("gone"))
        self.failed = True
        for number in set(self.sent) - set(self.unacknowledged):
            self._end(number, "UnreadableResponsesError")

    @invariant()
    def each_task_has_ended_as_it_must(self) -> None:
        self._settle()
        assert [_ending(task) for task in self.tasks] == self.fates
        assert self.desk.order == [str(number) for number in self.sent]

    def teardown(self) -> None:
        self.desk.full = False
        self._settle()
        while self.unacknowledged:
            self.acknowledge()
        self.loop.run_until_complete(self.desk.close())
        self._settle()
        assert None not in map(_ending, self.tasks)
        assert len(self.desk.waiting) == 0
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.at_once.stop()

    def _settle(self) -> None:
        """Let every task go as far as it can."""
        self._sent()
        self.loop.run_until_complete(_steps(10 + 5 * len(self.tasks)))

    def _sent(self) -> None:
        """Take what waits for its turn, as long as there is room."""
        while self.queued and not self.desk.full:
            number = self.queued.pop(0)
            self.sent.append(number)
            self.unacknowledged.append(number)
            if not self.patient[number]:
                self._end(number, "OutcomeUnknownError")

    def _end(self, number: int, fate: str) -> None:
        if self.fates[number] is None:
            self.fates[number] = fate


async def _steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def _ending(task: asyncio.Task[Response]) -> str | None:
    if not task.done():
        return None
    if task.cancelled():
        return "CancelledError"
    if (error := task.exception()) is not None:
        return type(error).__name__
    return f"answered at {task.result().source.offset}"


TestTasks = pytest.mark.proves("C-12")(Tasks.TestCase)


def test_commands_are_sent_in_their_order_while_kafka_is_asked() -> None:
    desk, answers = Desk(followed=False), threading.Event()
    desk.asked = answers.wait

    async def together() -> None:
        first, *others = (asyncio.create_task(desk.ask(name)) for name in "abc")
        await _steps(10)
        first.cancel()
        await _steps(10)
        assert desk.order == []
        answers.set()
        late = asyncio.create_task(desk.ask("d"))
        while len(desk.order) < 3:
            await asyncio.sleep(0)
        for offset in range(3):
            desk.waiting.place(desk.sent.popleft(), place(offset))
            desk.waiting.answer(ABOUT, response_at(offset))
        await asyncio.gather(*others, late)
        assert first.cancelled()

    asyncio.run(together())
    assert desk.order == ["b", "c", "d"]
