"""Who waits for which answer."""

from collections import Counter, deque
from functools import partial
from threading import Lock
from weakref import ref

from commands.sending.pending import Pending
from schemas.response import Response
from schemas.source import Source

Aggregate = tuple[str, bytes]  # type and id, as a response's topic and key say them


class Waiting:
    """Matches responses to commands by the command's place in Kafka; safe between threads.

    The place tells apart what command ids cannot: the same id may be sent twice, even with two
    payloads, and each sending gets its own answer. A response may overtake the acknowledgement
    that says where its command lies, so what comes meanwhile is kept. A command whose sender
    dropped its `Pending` is forgotten.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._placed: dict[Source, ref[Pending]] = {}
        self._unplaced: Counter[Aggregate] = Counter()
        self._early: dict[Aggregate, dict[Source, Response]] = {}
        self._interest: Counter[Aggregate] = Counter()
        # noted without the lock: a garbage collection may run while this thread holds it
        self._dropped: deque[tuple[Aggregate, Source]] = deque()
        self._failure: Exception | None = None

    def __len__(self) -> int:
        """Return how many commands are without an answer that somebody may still ask for."""
        return self._interest.total()

    def add(self, pending: Pending) -> None:
        """Wait for the answer to a command that is about to be sent."""
        about = _about(pending)
        with self._lock:
            self._unplaced[about] += 1
            self._interest[about] += 1

    def place(self, pending: Pending, source: Source) -> None:
        """Learn where a command lies; its answer may already be here."""
        about = _about(pending)
        pending.delivered(source)
        with self._lock:
            response = self._early.get(about, {}).pop(source, None)
            self._leave_unplaced(about)
            if response is None and self._failure is None:
                dropped = partial(_note, self._dropped, (about, source))
                self._placed[source] = ref(pending, dropped)
                return
            _decrease(self._interest, about)
            if response is not None:
                pending.answer(response)
            elif self._failure is not None:
                pending.fail(self._failure)

    def lose(self, pending: Pending, error: Exception) -> None:
        """Learn that a command was not acknowledged."""
        about = _about(pending)
        with self._lock:
            self._leave_unplaced(about)
            _decrease(self._interest, about)
        pending.fail(error)

    def expects(self, about: Aggregate) -> bool:
        """Return whether a response about this aggregate is worth decoding."""
        return about in self._interest

    def answer(self, about: Aggregate, response: Response) -> None:
        """Hand a response to the command that it answers, if that was ours."""
        with self._lock:
            reference = self._placed.pop(response.source, None)
            if reference is not None:
                _decrease(self._interest, about)
            elif about in self._unplaced:
                self._early.setdefault(about, {})[response.source] = response
        if reference is not None and (pending := reference()) is not None:
            pending.answer(response)

    def fail(self, error: Exception) -> None:
        """End every waiting, now and from now on."""
        with self._lock:
            self._failure = error
            waiting = [reference() for reference in self._placed.values()]
            self._placed.clear()
            self._interest = Counter(self._unplaced)
        for pending in waiting:
            if pending is not None:
                pending.fail(error)

    def sweep(self) -> None:
        """Forget what nobody holds any more."""
        while self._dropped:
            about, source = self._dropped.popleft()
            with self._lock:
                if self._placed.pop(source, None) is not None:
                    _decrease(self._interest, about)

    def _leave_unplaced(self, about: Aggregate) -> None:
        _decrease(self._unplaced, about)
        if about not in self._unplaced:
            self._early.pop(about, None)


def _decrease(counter: Counter[Aggregate], about: Aggregate) -> None:
    counter[about] -= 1
    if counter[about] <= 0:
        del counter[about]


def _note(
    dropped: "deque[tuple[Aggregate, Source]]", entry: tuple[Aggregate, Source], _: object
) -> None:
    dropped.append(entry)


def _about(pending: Pending) -> Aggregate:
    return pending.aggregate_type, pending.aggregate_id.encode()
