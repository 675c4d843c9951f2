"""Two producers at once, and how far they and the decider have come."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from compose.demo.plan import Wish
from compose.demo.story import Story
from verdict import Client, Pending

LOAD = "load"  # the correlation id of every command of the load


class Sender(threading.Thread):
    """Sends its wishes through its own client, as fast as it can.

    Args:
        client: No other sender's.
        wishes: In order.
        meeting: Where the senders wait for each other before every race; without it the faster
            one would win them all.
    """

    def __init__(self, client: Client, wishes: Sequence[Wish], meeting: threading.Barrier) -> None:
        super().__init__(name="demo-sender", daemon=True)
        self._client = client
        self._meeting = meeting
        self._wishes = wishes
        self._stopping = threading.Event()
        self.pendings: list[Pending] = []
        self.failure: Exception | None = None

    def run(self) -> None:
        """Send; a failure is kept for `check`."""
        try:
            for wish in self._wishes:
                if self._stopping.is_set():
                    return
                if wish.verdict is None:
                    self._meeting.wait()
                self.pendings.append(self._send(wish))
            self._client.flush()
        except threading.BrokenBarrierError:
            return  # the other one failed, or all is being stopped
        except Exception as error:  # nobody looks at a thread: the story asks for it
            self.failure = error
            self._meeting.abort()

    def stop(self) -> None:
        """End after the command under way."""
        self._stopping.set()
        self._meeting.abort()
        if self.ident is not None:
            self.join()

    def check(self) -> None:
        """Return while all is well.

        Raises:
            SendingFailed: Kafka did not take a command.
        """
        if self.failure is not None:
            raise self.failure

    @property
    def answered(self) -> int:
        """How many of the commands have their verdict."""
        return sum(pending.done for pending in self.pendings)

    def _send(self, wish: Wish) -> Pending:
        return self._client.send(
            wish.aggregate_id,
            wish.command,
            wish.expected_version,
            command_id=wish.command_id,
            correlation_id=LOAD,
        )


def send_all(story: Story, parts: Sequence[Sequence[Wish]]) -> float:
    """Send each part through a client of its own, all at once, and await every verdict.

    Returns:
        The seconds from the first command to the last verdict.

    Raises:
        TimedOut, VerdictError: The verdicts do not come, or a part of the application stopped.
        SendingFailed: Kafka did not take a command.
    """
    total = sum(map(len, parts))
    meeting = threading.Barrier(len(parts))
    senders = [Sender(*each, meeting) for each in zip(story.clients, parts, strict=True)]
    with _progress() as progress:
        sent = progress.add_task("sent", total=total)
        decided = progress.add_task("decided", total=total)

        def answered() -> int:
            for sender in senders:
                sender.check()
            found = sum(sender.answered for sender in senders)
            progress.update(sent, completed=sum(len(sender.pendings) for sender in senders))
            progress.update(decided, completed=found)
            return found

        began = time.perf_counter()
        try:
            for sender in senders:
                sender.start()
            story.wait_until(
                lambda: answered() == total, f"the last of {total} verdicts", progress=answered
            )
        finally:
            for sender in senders:
                sender.stop()
        return time.perf_counter() - began


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show bars on stderr while a person looks at it; they are gone afterwards."""
    console = Console(stderr=True)
    columns = (
        TextColumn("   {task.description:8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as shown:
        yield shown
