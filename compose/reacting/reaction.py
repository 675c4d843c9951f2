"""One record in, what follows from it out: pure, on Spark's executors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from pydantic_core import to_json

from aggregates.operator.output import Output
from aggregates.received import CommandRecord, dead_letter
from commands.point_of_sale import NoInvoice, command_of
from commands.policies.policy import Addressed, Policy, commands_of
from projections.outbound.notification import Notification
from schemas.letter import RETRY_ATTEMPT, RETRY_ATTEMPTS, RETRY_REACTION, RETRY_TOPIC
from schemas.recorded_event import RecordedEvent
from schemas.topics import Topics
from schemas.wire.catalogue import by_id
from schemas.wire.cloud_events import dead_letter_headers, event_headers
from schemas.wire.codec import HEADER_BYTES
from schemas.wire.commands import encode_command
from schemas.wire.headers import Headers, joined
from schemas.wire.records import decode_event, encode

SHOWN_CHARS = 500
JSON = "application/json"

Reaction = Callable[[], Iterator[Output]]


@dataclass(frozen=True)
class Reactions:
    """All that this deployment does because of a record.

    Args:
        topics: Of the deployment.
        policies: event → commands.
        notifications: event → a message for others.
    """

    topics: Topics
    policies: Sequence[Policy]
    notifications: Sequence[Notification]

    @property
    def inputs(self) -> list[str]:
        """The topics to read, sorted."""
        followed = chain.from_iterable(
            [*(one.follows for one in self.policies), *(one.follows for one in self.notifications)]
        )
        sent = {self.topics.point_of_sale, self.topics.retry}
        return sorted(sent | {*map(self.topics.events, followed)})

    @property
    def outputs(self) -> list[str]:
        """The topics that nobody else writes to, sorted."""
        return sorted({each.topic(self.topics) for each in self.notifications})

    def of(self, record: CommandRecord, retried: str | None = None) -> Iterator[Output]:
        """Yield what follows from a record, the same whenever it is asked.

        What cannot be read is a dead letter. So is a reaction that fails because of a bug: it is
        tried again by itself later, and the other reactions to the same record do their part.

        Args:
            record: Of one of the inputs.
            retried: On the topic `retry`, the name of the reaction that is to be tried again; None
                there is another service's affair.
        """
        topic = record.source.topic
        if topic == self.topics.point_of_sale:
            yield from self._guarded(record, "point_of_sale", partial(self._invoice, record))
        elif topic != self.topics.retry:
            yield from self._because(record, self.topics.aggregate_of(topic), None)
        elif retried is not None:
            yield from self._because(record, _aggregate_type(record.value), retried)

    def _because(
        self, record: CommandRecord, aggregate_type: str, only: str | None
    ) -> Iterator[Output]:
        if record.value is None or record.cut:
            yield self._letter(record, "no event: it has no value, or one that was cut")
            return
        try:
            event = decode_event(aggregate_type, record.value)
        except (ValueError, LookupError) as error:
            yield self._letter(record, f"no {aggregate_type} event: {error}")
            return
        for policy in self.policies:
            if aggregate_type in policy.follows and only in (None, policy.name):
                yield from self._guarded(record, policy.name, partial(self._asked, event, policy))
        for told in self.notifications:
            if aggregate_type in told.follows and only in (None, told.name):
                yield from self._guarded(record, told.name, partial(self._told, event, told))

    def _guarded(self, record: CommandRecord, name: str, reaction: Reaction) -> Iterator[Output]:
        """Yield all of a reaction or, if it fails, none of it and a letter."""
        try:
            yield from list(reaction())
        except NoInvoice as error:
            yield self._letter(record, str(error))
        except Exception as error:
            problem = f"{name} failed: {type(error).__name__}: {error}"
            yield self._letter(record, problem, self._again(record, name))

    def _invoice(self, record: CommandRecord) -> Iterator[Output]:
        if record.value is None:
            raise NoInvoice("no invoice: it has no value")
        if record.cut:
            raise NoInvoice(
                f"no invoice: it has {record.length} bytes, more than a command may have"
            )
        envelope, payload = command_of(record.value, record.source)
        yield self._command(Addressed("invoice", envelope, payload))

    def _asked(self, event: RecordedEvent, policy: Policy) -> Iterator[Output]:
        yield from map(self._command, commands_of(policy, event))

    def _told(self, event: RecordedEvent, notification: Notification) -> Iterator[Output]:
        if (told := notification.tell(event)) is not None:
            headers = {**event_headers(event), "content-type": JSON}
            topic = notification.topic(self.topics)
            yield Output(topic, event.aggregate_id.encode(), to_json(told), joined(headers), True)

    def _command(self, asked: Addressed) -> Output:
        return Output(
            self.topics.commands(asked.aggregate_type),
            asked.envelope.aggregate_id.encode(),
            encode_command(asked.aggregate_type, asked.envelope, asked.payload),
            "",
            True,
        )

    def _again(self, record: CommandRecord, name: str) -> Headers:
        return {
            RETRY_TOPIC: self.topics.retry,
            RETRY_REACTION: name,
            RETRY_ATTEMPT: str(record.attempt),
        }

    def _letter(
        self, record: CommandRecord, error: str, again: Mapping[str, str] | None = None
    ) -> Output:
        letter = dead_letter(record, error[:SHOWN_CHARS])
        headers = dead_letter_headers(letter)
        if again is not None:
            del headers[RETRY_ATTEMPTS]  # which says that it never helps
            headers |= again
        return Output(self.topics.dead_letters, letter.key, encode(letter), joined(headers), False)


def _aggregate_type(value: bytes | None) -> str:
    """Return whose event this is, by the schema that it was written with."""
    written = by_id().get(int.from_bytes((value or b"")[1:HEADER_BYTES], "big"))
    return written.subject.removesuffix("_event") if written else "unknown"
