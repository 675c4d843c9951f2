"""Letters: what a service could not handle, and the headers by which it is tried again.

Any service may put a record of its own on `dead-letters`, whatever its bytes, with these headers,
each a text in UTF-8. All of them may be absent; of one that is there twice, the last counts.

- `retry_attempt`: how many retries were made so far, a whole number; none.
- `retry_attempts`: how many there may be at most, then the letter is parked; the setting
  `retry_attempts`.
- `retry_topic`: the topic to go back to; `retry`.
- `retry_backoff`: how long to wait, from when the letter is taken in: `fixed:1s,10s,1m` (the
  last step repeats), `exponential:1s,2,1h` (the first wait, the factor, the longest wait), or the
  name of one of the application's `backoffs`, functions from a `DeadLetterRecord` to seconds;
  unset: the setting `retry_backoff`.
- `retry_id`: set on the way out; a retry that is sent twice, after a crash, carries the same one
  both times. It follows from the letter's place on `dead-letters`, so the next pass has another.
- `retry_policy`: of verdict's own letters, which policy or notification failed.

A retry carries `retry_attempt`, one more, `retry_attempts`, `retry_topic` and `retry_id`, whether
or not the letter did; key, value and all other headers are passed on as they are. A service that
fails again puts the record back on `dead-letters` with the headers that it came with.
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
