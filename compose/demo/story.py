"""What every chapter works with: the running application, two senders, a reader, and a voice."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka import Producer

from compose.demo.stopping import Interruption
from compose.demo.voice import Voice
from verdict import Client, Pending, Reader, Response, TimedOut
from verdict.kafka.log import KafkaLog
from verdict.reading.reader import Selected
from verdict.service.running import Running
from verdict.wire.topics import Topics

POLL_S = 0.05
PATIENCE_S = 120.0  # without any progress; a busy machine may take its time

Condition = Callable[[], bool]


class Measure(NamedTuple):
    """A number that was measured, and what it is the number of."""

    value: str
    meaning: str


@dataclass
class Story:
    """Handed from chapter to chapter.

    Args:
        running: Everything; is looked at whenever the story waits for something.
        interruption: Is looked at then, too.
        voice: Tells it.
        topics: Of the deployment.
        clients: Two senders that know nothing of each other.
        plain: A producer of Kafka's own, as any other service has it.
        log: Reads topics.
        reader: Reads the views, as `verdict sql` does.
        commands: How many the load sends, all senders together; even.
    """

    running: Running
    interruption: Interruption
    voice: Voice
    topics: Topics
    clients: tuple[Client, Client]
    plain: Producer
    log: KafkaLog
    reader: Reader
    commands: int
    measures: list[Measure] = field(default_factory=list)

    def outcome(self, pending: Pending) -> Response:
        """Return the verdict on a command that was sent.

        Raises:
            TimedOut, VerdictError: It does not come, or a part of the application stopped.
            SendingFailed: Kafka did not take the command.
        """
        self.wait_until(lambda: pending.done, f"the verdict on {pending}")
        return pending.wait(0)

    def select(self, statement: str, **parameters: Any) -> Selected:
        """Run one SELECT on the views, which lag behind: settle first."""
        return self.reader.select(statement, parameters)

    def wait_until(
        self, condition: Condition, what: str, progress: Callable[[], Any] = lambda: None
    ) -> None:
        """Return when `condition` holds.

        Args:
            condition: Asked again and again.
            what: Is awaited, for the error.
            progress: Something that changes as long as there is hope.

        Raises:
            TimedOut: Nothing moved for two minutes.
            VerdictError: A part of the application stopped meanwhile.
        """
        seen, deadline = progress(), time.monotonic() + PATIENCE_S
        while not condition():
            self.interruption.check()
            self.running.check()
            if (now := progress()) != seen:
                seen, deadline = now, time.monotonic() + PATIENCE_S
            if time.monotonic() > deadline:
                folder = self.running.settings.data_dir
                raise TimedOut(
                    f"{what} did not come for {PATIENCE_S:g} s"
                    + (f" after {seen}" if seen is not None else "")
                    + f": run `verdict demo --keep DIR` and see the logs there (now {folder})"
                )
            time.sleep(POLL_S)
