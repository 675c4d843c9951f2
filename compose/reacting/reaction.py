"""One record in, what follows from it out: pure, on Spark's executors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from pydantic_core import to_json

from aggregates.operator.output import Output
from aggregates.received import CommandRecord, dead_letter
from commands.point_of_sale import NoInvoice, command_of
from commands.policies.policy import Addressed, Policy, commands_of
from projections.outbound.notification import Notification
from schemas.recorded_event import RecordedEvent
from schemas.topics import Topics
from schemas.wire.cloud_events import dead_letter_headers, event_headers
from schemas.wire.commands import encode_command
from schemas.wire.headers import joined
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
        return sorted({self.topics.point_of_sale, *map(self.topics.events, followed)})

    @property
    def outputs(self) -> list[str]:
        """The topics that nobody else writes to, sorted."""
        return sorted({each.topic(self.topics) for each in self.notifications})

    def of(self, record: CommandRecord) -> Iterator[Output]:
        """Yield what follows from a record, the same whenever it is asked.

        What cannot be read, or fails because of a bug, is a dead letter; the other reactions to
        the same record do their part.
        """
        if record.source.topic == self.topics.point_of_sale:
            yield from self._guarded(record, "point_of_sale", partial(self._invoice, record))
            return
        if record.value is None or record.cut:
            yield self._letter(record, "no event: it has no value, or one that was cut")
            return
        aggregate_type = self.topics.aggregate_of(record.source.topic)
        try:
            event = decode_event(aggregate_type, record.value)
        except ValueError as error:
            yield self._letter(record, f"no {aggregate_type} event: {error}")
            return
        for policy in self.policies:
            if aggregate_type in policy.follows:
                yield from self._guarded(record, policy.name, partial(self._asked, event, policy))
        for told in self.notifications:
            if aggregate_type in told.follows:
                yield from self._guarded(record, told.name, partial(self._told, event, told))

    def _guarded(self, record: CommandRecord, name: str, reaction: Reaction) -> Iterator[Output]:
        """Yield all of a reaction or, if it fails, none of it and a letter."""
        try:
            yield from list(reaction())
        except NoInvoice as error:
            yield self._letter(record, str(error))
        except Exception as error:
            yield self._letter(record, f"{name} failed: {type(error).__name__}: {error}")

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

    def _letter(self, record: CommandRecord, error: str) -> Output:
        letter = dead_letter(record, error[:SHOWN_CHARS])
        headers = joined(dead_letter_headers(letter))
        return Output(self.topics.dead_letters, letter.key, encode(letter), headers, False)
