"""What every chapter works with: the service, two senders, a reader, and a voice."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compose.demo.plain_kafka import PlainKafka
from compose.demo.stopping import Interruption
from compose.demo.voice import Voice
from verdict import Client, Response
from verdict.client import Pending
from verdict.errors import TimedOutError
from verdict.readers import Reader, wait_until_idle
from verdict.testing import Service

POLL_S = 0.05
PATIENCE_S = 600.0  # a busy machine may take its time


@dataclass
class Story:
    """Handed from chapter to chapter.

    `clients` know nothing of each other; `reader` reads the views as `verdict sql` does; so many
    `commands`, an even number, are what both clients send in the load.
    """

    service: Service
    interruption: Interruption
    voice: Voice
    clients: tuple[Client, Client]
    kafka: PlainKafka
    reader: Reader
    commands: int

    def ask(self, query: str, *options: str) -> list[tuple[Any, ...]]:
        """Show what `verdict sql` prints of a query, and return its rows."""
        self.voice.typed("sql", *options, query)
        with self.voice.waiting("verdict sql"):
            printed = self.service.verb("sql", *options, query).stdout
        for line in printed.splitlines():
            self.voice.say(line)
        return self.select(query)

    def select(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of one SELECT on the views, which lag behind: settle first."""
        return [*self.reader.select(query).rows]

    def outcome(self, pending: Pending) -> Response:
        """Return the verdict on a command that was sent; raises as `wait_until`."""
        self.wait_until(lambda: pending.done, lambda: "a verdict")
        return pending.wait(0)

    def settle(self) -> None:
        """Return when all that was sent is decided, and in every table.

        Raises:
            TimedOutError, VerdictError: Nothing moves, or the service has ended.
        """
        with self.voice.waiting("waiting for the tables") as tell:
            for look in wait_until_idle(self.service.settings):
                self._check()
                tell(f"waiting for the tables, {look.lag or 'some'} records behind")

    def wait_until(self, condition: Callable[[], bool], what: Callable[[], str]) -> None:
        """Return when `condition` holds; `what` says meanwhile what is awaited.

        Raises:
            TimedOutError, VerdictError: It takes too long, or the service has ended.
        """
        deadline = time.monotonic() + PATIENCE_S
        with self.voice.waiting(f"waiting for {what()}") as tell:
            while not condition():
                self._check()
                if time.monotonic() > deadline:
                    raise TimedOutError(f"there is still no end of waiting for {what()}")
                tell(f"waiting for {what()}")
                time.sleep(POLL_S)

    def _check(self) -> None:
        self.interruption.check()
        self.service.check()
