"""What a decision puts on which topic."""

from collections.abc import Iterator
from typing import NamedTuple

from verdict.decision.handle import Verdict
from verdict.decision.received import CommandRecord, ReceivedCommand
from verdict.model.reason import Reason
from verdict.wire.cloud_events import dead_letter_headers, event_headers, response_headers
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.headers import joined
from verdict.wire.records import encode
from verdict.wire.reply import reply_name
from verdict.wire.response import Rejection, Response
from verdict.wire.topics import Topics

OUTPUT_SCHEMA = "outputs binary, file string"
DECIDED_SCHEMA = f"{OUTPUT_SCHEMA}, moved binary"


class Output(NamedTuple):
    """One Kafka record to be published.

    `headers` is a text of `verdict.wire.headers`. `replayable` is False when a replay may word
    `value` differently (the message of a bug), so that it must stay outside every digest.
    """

    topic: str
    key: bytes | None
    value: bytes
    headers: str
    replayable: bool


class Outputs:
    """Turns verdicts into records for the topics of one deployment."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def of_verdict(
        self, verdict: Verdict, response: bytes, command: ReceivedCommand
    ) -> Iterator[Output]:
        """Yield the events of a verdict, then its rejection if it is a new one, then its response.

        Args:
            verdict: The decision.
            response: Its encoded response.
            command: What was decided.
        """
        for stored in verdict.events:
            event = stored.event
            topic = self._topics.events(event.aggregate_type)
            headers = joined(event_headers(event))
            yield Output(topic, event.aggregate_id.encode(), stored.value, headers, True)
        traceparent = command.envelope.traceparent
        yield from self.of_response(verdict.response, response, command.record, traceparent)

    def of_response(
        self,
        response: Response,
        encoded: bytes,
        record: CommandRecord,
        traceparent: str | None = None,
    ) -> Iterator[Output]:
        """Yield the rejection of `response` if it is a new one, then the response itself.

        Who asked for it by a name gets a copy under that, behind it.
        """
        key = response.aggregate_id.encode()
        replayable = response.reason != Reason.HANDLER_ERROR
        if response.reason is not None and not response.duplicate:
            rejection = Rejection.trusted(
                {**response.__dict__, "command_bytes": record.value or b""}
            )
            topic = self._topics.rejected(response.aggregate_type)
            headers = joined(response_headers(traceparent))
            yield Output(topic, key, encode(rejection), headers, replayable)
        topic = self._topics.responses(response.aggregate_type)
        headers = joined(response_headers(traceparent))
        yield Output(topic, key, encoded, headers, replayable)
        if (name := reply_name(record.reply_to)) is not None:
            yield Output(self._topics.replies, name, encoded, "", replayable)

    def of_dead_letter(self, letter: DeadLetter) -> Output:
        """Return the record that keeps what could not be read."""
        headers = joined(dead_letter_headers(letter))
        return Output(self._topics.dead_letters, letter.key, encode(letter), headers, True)

    def of_failed(self, letter: DeadLetter, attempt: int) -> Output:
        """Return the record that keeps a command which met a bug, and is to come back.

        Args:
            letter: With its bytes.
            attempt: How many times it has come back already.
        """
        headers = joined(dead_letter_headers(letter, attempt))
        return Output(self._topics.dead_letters, letter.key, encode(letter), headers, False)
