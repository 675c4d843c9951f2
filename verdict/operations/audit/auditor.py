"""The whole audit: log, archive, outcomes, state and projections, next to a running service."""

from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.sql.readers.reader import open_reader
from verdict.errors import UnreachableError
from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.operations.audit.log import Cut, LogAudit, cut
from verdict.operations.audit.projections import ProjectionAudit
from verdict.operations.audit.state import StateAudit, copies_in
from verdict.read_side.as_of.materialiser import AsOfRecords, scratch_folder
from verdict.read_side.schema.database import opened
from verdict.read_side.tables.same_topics import require_same_read_side
from verdict.settings.discovery import DeploymentNotFoundError, database_url, kafka_options
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import Archive
from verdict.streaming.event_log.event_log import EventLog, EventsMissingError, open_event_log
from verdict.streaming.event_log.skip_log import accepted_in, quarantine_in_words, reader_skipping
from verdict.streaming.exactly_once.query import decider_query
from verdict.streaming.exactly_once.read_progress import read_progress_now
from verdict.wire.catalog import catalog_of
from verdict.wire.skip_record import Quarantines, active_quarantines

STATE = "state"


@dataclass(slots=True)
class Auditor:
    """Looks at everything, at one aggregate type, or at the aggregate `only`; changes nothing."""

    settings: Settings
    aggregate_type: str | None = None
    only: str | None = None
    tell: Callable[[str], None] = lambda text: None
    looked: CheckResult = field(default_factory=CheckResult)

    @property
    def _types(self) -> tuple[str, ...]:
        every = self.settings.application.aggregate_types
        return every if self.aggregate_type is None else (self.aggregate_type,)

    def findings(self) -> Iterator[Finding]:
        """Yield what is not as it was written, of all that was decided when this began.

        A read side that cannot be reached is raised after everything else was looked at.
        """
        settings, topics = self.settings, self.settings.topics
        with ExitStack() as parts:
            folder = parts.enter_context(scratch_folder(settings.data_dir))
            log = parts.enter_context(reader_skipping(kafka_options(settings), topics))
            self._note_not_checked(log)
            archive, away = self._archive(parts)
            if not log.exists(topics.progress):
                raise DeploymentNotFoundError(
                    f"Kafka has nothing of a deployment {settings.deployment!r}: name another one "
                    "with --deployment, or start `verdict up`"
                )
            settled = cut(kafka_of(settings), log, topics)
            audit = LogAudit(topics, log, archive, settled, self.only, self.looked, self.tell)
            yield from audit.findings(self._types)
            quarantines = active_quarantines(accepted_in(log, topics))
            yield from self._quarantined(quarantines)
            events = open_event_log(settings, parts, log, self.tell)
            yield from self._state(events, settled, quarantines)
            if away is not None:
                raise UnreachableError(
                    f"archive and projections were not looked at: {away}"
                ) from away
            records = AsOfRecords(events, topics, partial(open_reader, settings))
            for one in self._projections(records, parts, folder):
                if (one.aggregate_type, one.aggregate_id) not in quarantines:
                    yield one  # no fold can tell the rows of the others

    def _note_not_checked(self, log: KafkaLog) -> None:
        every = [one for spans in log.passed_over.spans.values() for one in spans]
        if places := sum(one.end > one.start for one in every):
            self.looked.not_checked.append(f"{places} places that people decided to pass over")
        if self.only is not None:
            self.looked.not_checked.append(
                f"partitions that are not those of the key {self.only!r}: what somebody put "
                f"there under it is found by `verdict verify {self._types[0]}`"
            )

    def _quarantined(self, quarantines: Quarantines) -> Iterator[Finding]:
        for (aggregate_type, name), one in quarantines.items():
            if aggregate_type in self._types and self.only in (None, name):
                assert one.aggregate is not None
                what, version = quarantine_in_words(one), one.aggregate.version
                yield Finding(Check.VERSIONS, what, aggregate_type, name, version, one.source)

    def _archive(self, parts: ExitStack) -> tuple[Archive | None, UnreachableError | None]:
        try:
            return Archive(parts.enter_context(open_reader(self.settings))), None
        except UnreachableError as error:
            return None, error

    def _state(
        self, events: EventLog, settled: Cut, quarantines: Container[tuple[str, str]]
    ) -> Iterator[Finding]:
        progress = read_progress_now(
            kafka_of(self.settings), decider_query(self.settings.topics, 1)
        )
        shards = () if progress is None else progress.shard_states
        # without sequence 0: any copy that was just begun is at the end of an empty log
        heads = frozenset((one.sequence, one.digest) for one in shards if one.sequence)
        copies, is_complete = copies_in(self.settings.data_dir.absolute() / STATE, heads)
        if not copies:
            self.looked.not_checked.append(
                "the decider's state: this host has no copy of it; run this where the service runs"
            )
            return
        state = StateAudit(copies, is_complete, settled.decided, self.looked)
        try:
            for aggregate_type in self._types:
                self.tell(f"state of {aggregate_type}")
                context = catalog_of(self.settings.application)[aggregate_type]
                histories = (
                    events.every(aggregate_type)
                    if self.only is None
                    else [(self.only, events.history(aggregate_type, self.only))]
                )
                for name, history in histories:
                    if (aggregate_type, name) not in quarantines:  # else no fold can tell it
                        yield from state.findings(context, name, history)
        except EventsMissingError as gone:
            self.looked.unavailable.append(f"the decider's state: {gone}")
        finally:
            state.close()
        if state.unseen:
            self.looked.not_checked.append(
                f"the decider's state of {state.unseen:,} aggregates: the copies here take them "
                "in with the next commands of their shards"
            )

    def _projections(
        self, records: AsOfRecords, parts: ExitStack, folder: Path
    ) -> Iterator[Finding]:
        require_same_read_side(self.settings, kafka_of(self.settings))
        engine = parts.enter_context(opened(database_url(self.settings)))
        only = None if self.only is None else (self._types[0], self.only)
        audit = ProjectionAudit(
            self.settings, engine, records, folder, only, self.looked, self.tell
        )
        yield from audit.findings(self._types)
