"""A client's tasks against a model: each ends once, as the model says, and nothing is left."""

import asyncio
import gc
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.application import APPLICATION
from tests.client.test_waiting import ABOUT, place, response_at
from verdict.client import async_client, connection
from verdict.client.async_client import AsyncClient
from verdict.client.connection import Outgoing
from verdict.client.errors import NotDeliveredError, OutcomeUnknownError, UnreadableResponsesError
from verdict.client.pending import Pending, PendingError
from verdict.client.waiting import PendingCommands
from verdict.wire.response import Response

FOR_EVER = 1e6


@dataclass
class Desk:
    """In place of a connection: what Kafka does is what a test says."""

    waiting: PendingCommands = field(default_factory=PendingCommands)
    full: bool = False
    followed: bool = True
    sent: deque[Pending] = field(default_factory=deque)
    order: list[str] = field(default_factory=list)
    asked: Callable[[], object] = lambda: None

    def encoded(self, kind: str, name: str, command_id: str, value: bytes) -> Outgoing:
        pending = Pending(kind, name, command_id, PendingError(), self.waiting.held)
        return Outgoing(pending, value)

    def follows(self, outgoing: Outgoing) -> bool:
        return self.followed

    def follow(self, outgoing: Outgoing) -> None:
        self.asked()
        self.followed = True

    def put(self, outgoing: Outgoing) -> bool:
        if self.full:
            return False
        self.waiting.add(outgoing.pending)
        self.sent.append(outgoing.pending)
        self.order.append(outgoing.pending.command_id)
        return True

    def begin_closing(self) -> bool:
        return True

    def close(self) -> None:
        self.waiting.fail(OutcomeUnknownError("the client was closed"))


def client_at(desk: Desk) -> AsyncClient:
    with patch.object(connection, "Connection", lambda *_: desk):
        return AsyncClient(APPLICATION, "nowhere")


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
        self.client = client_at(self.desk)
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
        sending = self.client.send_encoded(
            "order", "o-1", str(number), b"", timeout_s=FOR_EVER if patient else 0
        )
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
        self.loop.run_until_complete(self.client.close())
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


def test_who_came_first_is_sent_first_though_kafka_is_asked_meanwhile() -> None:
    desk, answers = Desk(followed=False), threading.Event()
    desk.asked = answers.wait

    async def together() -> None:
        client = client_at(desk)
        sends = [client.send_encoded("order", "o-1", name, b"") for name in "abc"]
        first, *others = (asyncio.create_task(send) for send in sends)
        await _steps(10)
        first.cancel()
        await _steps(10)
        assert desk.order == []
        answers.set()
        late = asyncio.create_task(client.send_encoded("order", "o-1", "d", b""))
        while len(desk.order) < 3:
            await asyncio.sleep(0)
        for offset in range(3):
            desk.waiting.place(desk.sent.popleft(), place(offset))
            desk.waiting.answer(ABOUT, response_at(offset))
        await asyncio.gather(*others, late)
        assert first.cancelled()

    asyncio.run(together())
    assert desk.order == ["b", "c", "d"]


def test_a_timeout_of_asyncio_ends_the_waiting_and_nothing_else() -> None:
    desk = Desk()

    async def impatient() -> Response:
        client = client_at(desk)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await client.send_encoded("order", "o-1", "a", b"")
        again = asyncio.create_task(client.send_encoded("order", "o-1", "a", b""))
        await _steps(10)
        for offset, pending in enumerate(desk.sent):
            desk.waiting.place(pending, place(offset))
            desk.waiting.answer(ABOUT, response_at(offset))
        return await again

    assert asyncio.run(impatient()).source == place(len(desk.sent) - 1)


def test_a_cancelled_task_is_forgotten() -> None:
    desk = Desk()

    async def cancelled() -> None:
        task = asyncio.create_task(client_at(desk).send_encoded("order", "o-1", "a", b""))
        await _steps(10)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(cancelled())
    desk.waiting.place(desk.sent.popleft(), place(0))
    gc.collect()
    desk.waiting.sweep()

    assert len(desk.waiting) == 0


def test_an_outcome_behind_the_end_of_the_loop_is_nobodys() -> None:
    desk = Desk()

    async def gone() -> None:
        asyncio.get_running_loop().create_task(
            client_at(desk).send_encoded("order", "o-1", "a", b"")
        )
        await _steps(10)

    asyncio.run(gone())
    pending = desk.sent.popleft()
    desk.waiting.place(pending, place(0))
    desk.waiting.answer(ABOUT, response_at(0))

    assert pending.wait(0).source == place(0)
