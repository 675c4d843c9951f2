"""Each projection against a fold of the log at the same position, and its change feed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, select, true
from sqlalchemy.exc import DBAPIError

from verdict.adapters.sql import sequence
from verdict.adapters.sql.sqlite_file import one_line_error
from verdict.errors import UnreachableError, VerdictError
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.audit.finding import Check, CheckResult, Finding
from verdict.read_side.apply.applier import database_failed
from verdict.read_side.apply.batch import Delivery, StateChange
from verdict.read_side.as_of.materialiser import AsOfRecords, fold
from verdict.read_side.catalog import FIRST, declared, projection_by_name, with_live_settings
from verdict.read_side.projections.builtin.rows import OutcomeRow, RejectedCommand
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.comparison import content, row_of, shown
from verdict.read_side.schema.database import opened, snapshot
from verdict.read_side.tables import position, versions
from verdict.read_side.tables.versions import SettingsChangedError
from verdict.settings.database_address import url_of
from verdict.settings.settings import Settings
from verdict.streaming.event_log.archive import HashMismatchError
from verdict.streaming.event_log.event_log import EventsMissingError

Identity = tuple[str, str]
Row = Mapping[str, Any]
Change = tuple[int, str, str]  # of a feed: its number, the group, and `entered` or `left`
ENTERED, LEFT = "entered", "left"
LACKING = ("no such column", "no such table")  # SQLite reports them as failures of the database
NO_FUNCTION_OF_THE_LOG = (
    "dead letters, the outbox, interventions and blocked aggregates: no log tells what must be "
    "there",
    "which events are named behind the changes of a feed: it depends on how batches were cut",
)


def faults(changes: Iterable[Change], last: int, shown: Set[str]) -> Iterator[str]:
    """Yield what is wrong with a feed, however its batches were cut; pure.

    Numbers have no gap, a group enters and leaves in turn, and a replay gives who is in the table.
    """
    reached, present = 0, set[str]()
    for seq, group, kind in changes:
        if seq != reached + 1:
            yield f"changes {reached + 1} to {seq - 1} are missing"
        reached = seq
        if kind not in (ENTERED, LEFT):
            yield f"change {seq}: {kind!r} is neither {ENTERED} nor {LEFT}"
        elif (kind == ENTERED) == (group in present):
            was = "is in" if group in present else "is not in"
            yield f"change {seq}: {group!r} {kind}, and by the changes before it {was}"
        (present.add if kind == ENTERED else present.discard)(group)
    if reached != last:
        yield f"the last change is {reached}, and {last} were announced"
    for group in sorted(present ^ shown):
        said = "is in, and not in the table" if group in present else "is not in, but in the table"
        yield f"by all changes {group!r} {said}"


@dataclass(frozen=True, slots=True)
class ProjectionAudit:
    """Compares the live tables with a fold in a database of its own, which is below `folder`.

    `only` is the one aggregate to look at, and then only rows of its own count.
    """

    settings: Settings
    engine: Engine
    records: AsOfRecords
    folder: Path
    only: Identity | None
    looked: CheckResult
    tell: Callable[[str], None]

    def findings(self, aggregate_types: Collection[str]) -> Iterator[Finding]:
        """Yield what is wrong with the projections of these types."""
        topics = self.records.topics
        kinds = (topics.events, topics.responses, topics.rejected)
        ours = {of(name) for name in aggregate_types for of in kinds}
        states = (
            one for one in self.settings.application.state_topics if one.about in aggregate_types
        )
        ours |= {topics.named(one.topic) for one in states}  # which others write
        for name, at_version in declared(self.settings.application).items():
            if not ours.intersection(at_version(FIRST).topics(topics)):
                continue
            self.tell(f"projection {name}")
            with snapshot(self.engine) as connection:
                if (projection := self._live(connection, name)) is not None:
                    yield from self._of_live(connection, name, projection)
        self.looked.not_checked += NO_FUNCTION_OF_THE_LOG

    def _of_live(
        self, connection: Connection, name: str, projection: Projection
    ) -> Iterator[Finding]:
        try:
            versions.check_settings(connection, projection)
            yield from self._of_one(connection, name, projection)
        except EventsMissingError as gone:
            self._note_missing(connection, projection, gone)
        except (SettingsChangedError, HashMismatchError) as unknown:
            self.looked.unavailable.append(f"{name}: {unknown}")
        except DBAPIError as error:
            if database_failed(error) and not one_line_error(error.orig).startswith(LACKING):
                raise
            yield _finding(
                f"{name} cannot be read as it was made ({one_line_error(error.orig)}): somebody "
                f"has changed its tables; `verdict projection rebuild {name}` builds them again, "
                "`promote` shows them"
            )

    def _note_missing(
        self, connection: Connection, projection: Projection, gone: EventsMissingError
    ) -> None:
        """Note that rows cannot be compared; responses and rejections are in no archive."""
        read = position.load(connection, projection).get(gone.place, 0)
        topics, types = self.records.topics, self.settings.application.aggregate_types
        kept = {of(name) for name in types for of in (topics.responses, topics.rejected)}
        if gone.place.topic in kept and read >= gone.earliest:
            self.looked.not_checked.append(
                f"{projection.name}: of {gone.place} Kafka has dropped what was before offset "
                f"{gone.earliest}; it was read, and is nowhere else"
            )
        else:
            self.looked.unavailable.append(f"{projection.name}: {gone}")

    def _of_one(
        self, connection: Connection, name: str, projection: Projection
    ) -> Iterator[Finding]:
        if (stopped := versions.of(connection, projection).error) is not None:
            self.looked.unavailable.append(f"{name}, behind where it is stopped: {stopped}")
        if self.only is None:
            yield from self._announced(connection, projection)
        if not projection.tables:
            return
        ends = position.load(connection, projection)
        of_type = self._only_type(projection)
        with self._beside(projection) as other:
            try:
                fold(other, projection, self.records, ends, self._wanted)
            except (EventsMissingError, HashMismatchError, UnreachableError):
                raise
            except VerdictError as error:
                yield _finding(f"{name} cannot be folded: {error}")
                return
            with other.connect() as folded:
                for table in projection.tables:
                    for finding in self._compared(connection, folded, name, table):
                        yield replace(finding, aggregate_type=finding.aggregate_type or of_type)

    def _live(self, connection: Connection, name: str) -> Projection | None:
        """Return the live version as it was built, if there is one."""
        version = versions.live(connection, name)
        if version is None:
            self.looked.unavailable.append(
                f"{name}: the read side has none; start `verdict up` once"
            )
            return None
        as_set = declared(self.settings.application)[name](version)
        built = versions.of(connection, as_set).settings
        settings = with_live_settings(self.settings, name, built)
        return projection_by_name(settings, name)(version)

    def _only_type(self, projection: Projection) -> str | None:
        """Return the aggregate type of a projection that follows one only."""
        followed, topics = {*projection.topics(self.records.topics)}, self.records.topics
        types = [
            name
            for name in self.settings.application.aggregate_types
            if topics.events(name) in followed
        ]
        return types[0] if len(types) == 1 else None

    def _announced(self, connection: Connection, projection: Projection) -> Iterator[Finding]:
        feed = projection.feed
        if feed is None:
            return
        changes = select(feed.table.c.seq, feed.table.c[feed.key], feed.table.c.kind)
        read = connection.execute(changes.order_by(feed.table.c.seq))
        rows = [(seq, group, kind) for seq, group, kind in read]
        shown = {*connection.execute(select(feed.groups.c[feed.key])).scalars()}
        last = sequence.last_number(connection, feed.table.name)
        self.looked.at[f"changes of {projection.name}"] += len(rows)
        for what in faults(rows, last, shown):
            yield _finding(f"{feed.table.name}: {what}")

    @contextmanager
    def _beside(self, projection: Projection) -> Iterator[Engine]:
        file = self.folder / f"{projection.name}.db"
        try:
            with opened(url_of(file)) as engine:
                yield engine
        finally:
            for left in self.folder.glob(f"{file.name}*"):
                left.unlink()

    def _compared(
        self, live: Connection, folded: Connection, name: str, table: Table
    ) -> Iterator[Finding]:
        which = self._rows_of(table)
        if which is None:
            return
        contents = content(live, table, where=which), content(folded, table, where=which)
        self.looked.at[f"rows of {table.name.rpartition('_v')[0]}"] += contents[0].rows
        if contents[0] == contents[1]:
            return
        statement = select(table).where(which)
        for row in live.execute(statement, execution_options={"yield_per": 1000}):
            key = _key(table, row._mapping)
            found, expected = shown(table, row._mapping), row_of(folded, table, table.c.keys(), key)
            if found != expected:
                yield _differs(name, table, found, expected)
        for row in folded.execute(statement, execution_options={"yield_per": 1000}):
            key = _key(table, row._mapping)
            if row_of(live, table, table.c.keys(), key) is None:
                yield _differs(name, table, None, shown(table, row._mapping))

    def _rows_of(self, table: Table) -> ColumnElement[bool] | None:
        """Return which rows count; None: no row of the table is of one aggregate alone."""
        if self.only is None:
            return true()
        if "aggregate_id" not in table.c:
            return None
        ours = [table.c.aggregate_id == self.only[1]]
        if "aggregate_type" in table.c:
            ours.append(table.c.aggregate_type == self.only[0])
        return and_(*ours)

    def _wanted(self, delivery: Delivery) -> bool:
        record = delivery.record
        if self.only is None:
            return True
        if isinstance(record, RecordedEvent | OutcomeRow | RejectedCommand):
            return (record.aggregate_type, record.aggregate_id) == self.only
        return isinstance(record, StateChange) and record.key == self.only[1]


def _finding(what: str) -> Finding:
    return Finding(Check.PROJECTIONS, what)


def _key(table: Table, row: Any) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in table.primary_key)


def _differs(name: str, table: Table, live: Row | None, folded: Row | None) -> Finding:
    row = live or folded or {}
    if live is None:
        what = "the row is missing"
    elif folded is None:
        what = "nothing in the log makes this row"
    else:
        differ = (column for column in live if live[column] != folded[column])
        what = "; ".join(f"{one} is {live[one]!r}, by the log {folded[one]!r}" for one in differ)
    what = f"{name}, {table.name} {', '.join(map(str, _key(table, row)))}: {what}"
    about = (row.get(column) for column in ("aggregate_type", "aggregate_id", "version"))
    return Finding(Check.PROJECTIONS, what, *about)
