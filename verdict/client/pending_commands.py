"""Which command waits for which response."""

from collections import Counter, deque
from copy import copy
from functools import partial
from threading import Lock
from weakref import ref

from verdict.client.errors import SendFailedError
from verdict.client.pending import Pending
from verdict.model.source import Source
from verdict.wire.response import Response

Aggregate = tuple[str, bytes]  # type and id, as a response's topic and key say them


class PendingCommands:
    """Matches responses to commands by the command's position in Kafka; safe between threads.

    A command id cannot do that: it may be sent twice, and each sending gets its own response. A
    response may come before the acknowledgement with the position of its command, so early ones
    are kept. A command whose sender dropped its `Pending` is forgotten.
    """

    def __init__(self) -> None:
        self.held: set[Pending] = set()
        self._lock = Lock()
        self._placed: dict[Source, tuple[Aggregate, ref[Pending]]] = {}
        self._unplaced: Counter[Aggregate] = Counter()
        self._early: dict[Aggregate, dict[Source, Response]] = {}
        self._passed_over: dict[Aggregate, list[SendFailedError]] = {}
        self._interest: Counter[Aggregate] = Counter()
        # filled without the lock: a garbage collection may run while this thread holds it
        self._dropped: deque[Source] = deque()
        self._failure: SendFailedError | None = None

    def __len__(self) -> int:
        """Return how many commands still wait for a response."""
        return self._interest.total()

    def add(self, pending: Pending) -> None:
        """Wait for the response to a command that is about to be sent."""
        about = _about(pending)
        with self._lock:
            self._unplaced[about] += 1
            self._interest[about] += 1

    def place(self, pending: Pending, source: Source) -> None:
        """Take the position of a command; its response may already be here."""
        about = _about(pending)
        pending.delivered(source)
        with self._lock:
            response = self._early.get(about, {}).pop(source, None)
            failure = None if response else self._failed(about)
            self._leave_unplaced(about)
            if response is None and failure is None:
                dropped = partial(_note, self._dropped, source)
                self._placed[source] = about, ref(pending, dropped)
                return
            _decrease(self._interest, about)
        # without the lock: a callback may send the next command
        if response is not None:
            pending.answer(response)
        elif failure is not None:
            pending.fail(failure)

    def withdraw(self, pending: Pending) -> None:
        """Stop to wait for a command that was not sent."""
        about = _about(pending)
        with self._lock:
            self._leave_unplaced(about)
            _decrease(self._interest, about)

    def lose(self, pending: Pending, error: SendFailedError) -> None:
        """Fail a command that was not acknowledged."""
        self.withdraw(pending)
        pending.fail(error)

    def expects(self, about: Aggregate) -> bool:
        """Return whether a command to this aggregate waits for a response."""
        return about in self._interest

    def answer(self, about: Aggregate, response: Response) -> None:
        """Pass a response to its command, if that is ours."""
        with self._lock:
            pending = self._take(response.source)
            if pending is None and about in self._unplaced:
                self._early.setdefault(about, {})[response.source] = response
        if pending is not None:
            pending.answer(response)

    def pass_over(self, about: Aggregate, error: SendFailedError) -> None:
        """End a wait because of an unreadable response, of which only the aggregate is known.

        Responses to one aggregate keep the order of its commands, so it was for our first one, or
        for another sender's.
        """
        with self._lock:
            first = min(
                (at for at, (whose, _) in self._placed.items() if whose == about), default=None
            )
            pending = None if first is None else self._take(first)
            if first is None and about in self._unplaced:
                self._passed_over.setdefault(about, []).append(error)
        if pending is not None:
            pending.fail(error)

    def fail(self, error: SendFailedError) -> None:
        """End every wait, now and later."""
        with self._lock:
            self._failure = error
            waiting = [reference() for _, reference in self._placed.values()]
            self._placed.clear()
            self._interest = Counter(self._unplaced)
        for pending in waiting:
            if pending is not None:
                pending.fail(copy(error))  # each raises its own

    def sweep(self) -> None:
        """Forget the commands that were dropped."""
        with self._lock:  # also until another thread has forgotten what it took from there
            while self._dropped:
                self._take(self._dropped.popleft())

    def _take(self, source: Source) -> Pending | None:
        """Stop to wait for the command at a position; return it unless it was dropped."""
        if (found := self._placed.pop(source, None)) is None:
            return None
        about, reference = found
        _decrease(self._interest, about)
        return reference()

    def _failed(self, about: Aggregate) -> SendFailedError | None:
        """Return why the next command with a position needs no wait."""
        if passed_over := self._passed_over.get(about):
            return passed_over.pop(0)
        return copy(self._failure)

    def _leave_unplaced(self, about: Aggregate) -> None:
        _decrease(self._unplaced, about)
        if about not in self._unplaced:
            self._early.pop(about, None)
            self._passed_over.pop(about, None)


def _decrease(counter: Counter[Aggregate], about: Aggregate) -> None:
    counter[about] -= 1
    if counter[about] <= 0:
        del counter[about]


def _note(dropped: "deque[Source]", source: Source, _: object) -> None:
    dropped.append(source)


def _about(pending: Pending) -> Aggregate:
    return pending.aggregate_type, pending.aggregate_id.encode()
