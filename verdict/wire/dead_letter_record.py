"""Records on `dead-letters`: what a service could not handle, to be tried again.

Any service may put a record there, with the headers that `docs/reference/topics.md` lists, each a
text in UTF-8. Of a header that comes twice the last counts. Key, value and other headers are passed
on as they are.
"""

from dataclasses import dataclass
from uuid import UUID, uuid5

from verdict.model.source import Source

RETRY_ATTEMPT = "retry_attempt"
RETRY_ATTEMPTS = "retry_attempts"
RETRY_TOPIC = "retry_topic"
RETRY_BACKOFF = "retry_backoff"
RETRY_ID = "retry_id"
RETRY_POLICY = "retry_policy"

MOST_ATTEMPTS = 999_999_999

NAMESPACE = UUID("6d3c7f52-4f0b-5f53-9d0e-3c1e5ba1e2a7")

Pairs = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterRecord:
    """A record on `dead-letters`.

    `timestamp` is Kafka's in epoch milliseconds, and `attempt` the number of retries so far. If the
    record is not whole here, `unfit` says why it cannot be replayed.
    """

    source: Source
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Pairs = ()
    attempt: int = 0
    unfit: str | None = None

    def header(self, name: str) -> bytes | None:
        """Return the value of the last header of this name, if there is one."""
        return next((value for found, value in reversed(self.headers) if found == name), None)


def dead_letter_id(source: Source) -> str:
    """Return the id of the dead letter at a position, its `retry_id`."""
    return str(uuid5(NAMESPACE, f"{source.topic}\0{source.partition}\0{source.offset}"))
