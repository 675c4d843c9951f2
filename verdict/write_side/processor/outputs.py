"""Turns decisions into records for topics."""

from typing import NamedTuple

from verdict.model.reason import Reason
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.wire.cloud_events import dead_letter_headers, event_header_parts, trace_text
from verdict.wire.command_record import CommandRecord
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.headers import NUL, joined, reply_name
from verdict.wire.records import encode, rejected_with
from verdict.wire.topics import Topics
from verdict.write_side.decide.command_checks import DecidedCommand
from verdict.write_side.decide.parse import ReceivedCommand

OUTPUT_SCHEMA = "outputs binary, file string"
DECIDED_SCHEMA = f"{OUTPUT_SCHEMA}, moved binary, arrived binary"


class OutputBatch:
    """Makes the records for the topics of one deployment."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._places: dict[str, _Places] = {}

    def of_verdict(self, verdict: DecidedCommand, command: ReceivedCommand) -> list[OutputRecord]:
        """Return the events of a command, then its rejection if it is new, then its response."""
        of, record = command.aggregate_type, command.record
        trace = trace_text(command.envelope.traceparent)
        answers = self.of_answer(of, record.key, record, verdict.answer, verdict.refused, trace)
        if not verdict.recorded:
            return answers
        topic, ending = self._of(of).events, f"{NUL}{trace}" if trace else ""
        outputs = []
        for event_id, event, value in verdict.recorded:
            name = event.__class__.__name__
            before, behind = event_header_parts(of, name, record.source.topic)
            headers = f"{before}{event_id}{behind}{ending}"
            outputs.append(OutputRecord(topic, record.key, value, headers, True))
        return outputs + answers

    def of_answer(
        self,
        aggregate_type: str,
        key: bytes | None,
        record: CommandRecord,
        answer: bytes,
        refused: Reason | None,
        headers: str = "",
    ) -> list[OutputRecord]:
        """Return the rejection if it is a new one, the response, and a copy if one is asked for."""
        places, replayable = self._of(aggregate_type), refused is not Reason.HANDLER_ERROR
        outputs = [OutputRecord(places.responses, key, answer, headers, replayable)]
        if refused is not None:
            rejection = rejected_with(answer, record.value or b"")
            outputs.insert(0, OutputRecord(places.rejected, key, rejection, headers, replayable))
        if (name := reply_name(record.reply_to)) is not None:
            outputs.append(OutputRecord(self._topics.replies, name, answer, "", replayable))
        return outputs

    def of_dead_letter(self, letter: DeadLetter, attempt: int | None = None) -> OutputRecord:
        """Return the record of a dead letter; `attempt` is that of a command which met a bug."""
        headers, is_unreadable = joined(dead_letter_headers(letter, attempt)), attempt is None
        topic, value = self._topics.dead_letters, encode(letter)
        return OutputRecord(topic, letter.key, value, headers, is_unreadable)

    def _of(self, aggregate_type: str) -> "_Places":
        if (found := self._places.get(aggregate_type)) is None:
            of = self._topics
            names = of.events(aggregate_type), of.responses(aggregate_type)
            found = self._places[aggregate_type] = _Places(*names, of.rejected(aggregate_type))
        return found


class _Places(NamedTuple):
    """The topics of one aggregate."""

    events: str
    responses: str
    rejected: str
