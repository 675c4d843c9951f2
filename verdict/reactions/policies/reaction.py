"""Policies, notifications and inbound functions: from one record to what follows from it; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope
from verdict.model.integration import Inbound, NoCommandError, Notification
from verdict.model.policy import Policy, commands_of
from verdict.model.recorded_event import RecordedEvent
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.query import Query
from verdict.wire.catalog import AggregateContext, Catalog, catalog_of
from verdict.wire.cloud_events import dead_letter_headers, event_headers
from verdict.wire.codec import HEADER_BYTES
from verdict.wire.command_record import CommandRecord, dead_letter
from verdict.wire.commands import encode_command
from verdict.wire.dead_letter_record import RETRY_ATTEMPT, RETRY_ATTEMPTS, RETRY_POLICY, RETRY_TOPIC
from verdict.wire.error_text import error_text
from verdict.wire.headers import Headers, joined
from verdict.wire.json_lines import exact_json
from verdict.wire.records import decode_event, encode
from verdict.wire.topics import COMMAND_TOPIC_BYTES, OUTPUT_BYTES, Topics

NAME = "policies"  # of the query, by which Kafka and its progress record know it
JSON = "application/json"
NAME_CHARS = 256  # of a reaction's name in an error
FRAME_BYTES = 2_000  # of what Kafka puts around a record, and its headers around their texts


class OutputTooLargeError(ValueError):
    """What a reaction wants to send is more than its topic takes."""


@dataclass(frozen=True)
class Reactions:
    """All that this deployment does because of a record."""

    topics: Topics
    policies: Sequence[Policy]
    notifications: Sequence[Notification]
    inbound: Sequence[Inbound] = ()

    @cached_property
    def inputs(self) -> list[str]:
        """The topics to read, sorted."""
        followed = {self.topics.events(name) for one in self._followers for name in one.follows}
        return sorted({*self._inbound, self.topics.retry} | followed)

    @cached_property
    def outputs(self) -> list[str]:
        """The topics that only the reactions write to, sorted."""
        return sorted({self.topics.named(each.topic) for each in self.notifications})

    def of(self, record: CommandRecord, retried: str | None = None) -> Iterator[OutputRecord]:
        """Yield what follows from a record, the same each time.

        An unreadable record becomes a dead letter. So does a reaction that fails: it alone is tried
        again later.
        """
        topic = record.source.topic
        if (inbound := self._inbound.get(topic)) is not None:
            yield from self._guarded(record, inbound.name, self._sent(record, inbound))
        elif topic != self.topics.retry:
            yield from self._because(record, self.topics.aggregate_of(topic), None)
        elif retried in self._names:
            yield from self._because(record, self._aggregate_type(record.value), retried)
        elif retried is not None:
            known = ", ".join(sorted(self._names))
            error = f"no reaction is named {retried[:NAME_CHARS]!r}: there are {known}"
            # if it is declared again, an operator can replay the dead letter
            nameable = retried.isprintable() and len(retried) <= NAME_CHARS
            yield self._letter(record, error, self._back(record, retried) if nameable else None)

    @cached_property
    def _followers(self) -> Sequence[Policy | Notification]:
        return [*self.policies, *self.notifications]

    @cached_property
    def _names(self) -> set[str]:
        """What a record on the topic `retry` may ask for by name."""
        return {one.name for one in self._followers}

    @cached_property
    def _inbound(self) -> dict[str, Inbound]:
        return {self.topics.named(one.topic): one for one in self.inbound}

    @property
    def _catalog(self) -> Catalog:
        return catalog_of(self.topics.application)

    def _aggregate_type(self, value: bytes | None) -> str:
        """Return the aggregate type of an event, by its schema."""
        subjects = self._catalog.schemas.subjects
        written = subjects.get(int.from_bytes((value or b"")[1:HEADER_BYTES], "big"))
        return written.removesuffix("_event") if written else "unknown"

    def _because(
        self, record: CommandRecord, aggregate_type: str, only: str | None
    ) -> Iterator[OutputRecord]:
        back = None if only is None else self._back(record, only)
        if record.value is None or record.cut:
            yield self._letter(record, "no event: it has no value, or one that was cut", back)
            return
        try:
            event = decode_event(self._catalog[aggregate_type], record.value)
        except (ValueError, LookupError) as error:
            yield self._letter(record, f"no {aggregate_type} event: {error}", back)
            return
        for one in self._followers:
            if aggregate_type in one.follows and only in (None, one.name):
                yield from self._guarded(record, one.name, self._outputs_of(event, one))

    def _guarded(
        self, record: CommandRecord, name: str, outputs: Iterable[OutputRecord]
    ) -> Iterator[OutputRecord]:
        """Yield all outputs of a reaction or, if it fails, a dead letter."""
        try:
            yield from list(map(self._fitting, outputs))
        except NoCommandError as error:
            yield self._letter(record, str(error))
        except Exception as error:
            problem = f"{name} failed: {error_text(error)}"
            yield self._letter(record, problem, self._back(record, name), tried_again=True)

    def _sent(self, record: CommandRecord, inbound: Inbound) -> Iterator[OutputRecord]:
        what = inbound.aggregate_type
        if record.value is None:
            raise NoCommandError(f"no {what}: it has no value")
        if record.cut:
            raise NoCommandError(
                f"no {what}: it has {record.length} bytes, more than a command may have"
            )
        envelope, payload = inbound.command_of(record.value, record.source)
        yield self._command(self._catalog[what], envelope, payload)

    def _outputs_of(
        self, event: RecordedEvent, one: Policy | Notification
    ) -> Iterator[OutputRecord]:
        if isinstance(one, Policy):
            for envelope, payload in commands_of(one, event):
                yield self._command(self._catalog.of(type(payload)), envelope, payload)
        elif (told := one.tell(event)) is not None:
            flow = {"correlationid": event.correlation_id}  # their own value may lack it
            headers = joined({**event_headers(event), "content-type": JSON, **flow})
            topic, key = self.topics.named(one.topic), event.aggregate_id.encode()
            yield OutputRecord(topic, key, exact_json(told), headers)

    def _command(
        self, context: AggregateContext, envelope: CommandEnvelope, payload: Command
    ) -> OutputRecord:
        topic, key = self.topics.commands(context.name), envelope.aggregate_id.encode()
        return OutputRecord(topic, key, encode_command(context, envelope, payload))

    def _fitting(self, output: OutputRecord) -> OutputRecord:
        """Return an output if its topic takes it: else the batch would be refused at each start."""
        limit = OUTPUT_BYTES if output.topic in self.outputs else COMMAND_TOPIC_BYTES
        size = len(output.key or b"") + len(output.value) + len(output.headers.encode())
        if size > limit - FRAME_BYTES:
            raise OutputTooLargeError(
                f"a record of {size} bytes for {output.topic}, which takes {limit - FRAME_BYTES}"
            )
        return output

    def _back(self, record: CommandRecord, name: str) -> Headers:
        """Return headers that bring a dead letter back to the one reaction that failed."""
        if record.source.topic in self._inbound:
            return {RETRY_TOPIC: record.source.topic}
        return {RETRY_TOPIC: self.topics.retry, RETRY_POLICY: name}

    def _letter(
        self,
        record: CommandRecord,
        error: str,
        back: Headers | None = None,
        tried_again: bool = False,
    ) -> OutputRecord:
        letter = dead_letter(record, error)
        headers = dead_letter_headers(letter) | (back or {})
        if tried_again:
            del headers[RETRY_ATTEMPTS]  # which says that a retry never helps
            headers[RETRY_ATTEMPT] = str(record.attempt)
        return OutputRecord(
            self.topics.dead_letters, letter.key, encode(letter), joined(headers), False
        )


def reactions_of(settings: Settings) -> Reactions:
    """Return the reactions of a deployment, as its settings bind them."""
    return reactions_added(settings.topics, settings.chosen)


def reactions_added(topics: Topics, chosen: Mapping[str, object]) -> Reactions:
    """Return the reactions of a deployment."""
    application = topics.application
    policies = [policy.bound(chosen) for policy in application.policies]
    return Reactions(topics, policies, application.notifications, application.inbound)


def reactions_query(reactions: Reactions) -> Query:
    """Return the query of the reactions; it needs no Spark."""
    topics = reactions.topics
    return Query(
        name=NAME,
        transactional_id=topics.transactional_id(NAME),
        progress_topic=topics.progress,
        inputs=reactions.inputs,
        outputs=reactions.outputs,
        others=[topics.dead_letters],
        handler_version=" ".join(policy.name for policy in reactions.policies),
    )
