"""The work of `verdict projection`; the service may run at the same time."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Engine

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.errors import VerdictError
from verdict.read_side.catalog import FIRST, AtVersion, projection_by_name
from verdict.read_side.projections.projection import Rebuildable
from verdict.read_side.rebuild import promotion, version_pair
from verdict.read_side.rebuild.build import ProjectionBuild
from verdict.read_side.rebuild.errors import VersionsDifferError
from verdict.read_side.rebuild.log_fold import LogFold, ends_of
from verdict.read_side.rebuild.log_replay import decoded, read_if_short
from verdict.read_side.rebuild.promotion import AlignedVersions, ComparedVersions
from verdict.read_side.rebuild.version_pair import OnStep, VersionPair
from verdict.read_side.schema.database import failing_in_words, opened
from verdict.read_side.tables.position import ConcurrentProjectionError
from verdict.read_side.tables.same_topics import require_same_read_side
from verdict.settings.discovery import database_url
from verdict.settings.settings import Settings
from verdict.streaming.event_log.event_log import open_event_log
from verdict.streaming.event_log.skip_log import reader_skipping
from verdict.streaming.exactly_once.failpoints import ProgressCallback, ignore_step


class Rebuilder:
    """Builds the next version of a projection, compares it, and makes it the live one."""

    def __init__(
        self,
        settings: Settings,
        name: str,
        tell: ProgressCallback = ignore_step,
        on_step: OnStep = ignore_step,
    ) -> None:
        self._settings = settings
        self._name = name
        self._at_version = _buildable(settings, name)
        self._kafka = kafka_of(settings)
        self._tell = tell
        self._on_step = on_step

    def rebuild(self) -> VersionPair:
        """Build the next version from the whole log, next to the live one."""
        with self._alone(), self._database() as engine, ExitStack() as parts:
            made = version_pair.create_next(engine, self._name, self._at_version)
            assert isinstance(made.other, Rebuildable), "what has tables can be built"
            topics = self._settings.topics
            log = parts.enter_context(reader_skipping(self._kafka.settings, topics))
            ends = ends_of(made.other, log, topics)
            events = open_event_log(self._settings, parts, log)
            building = ProjectionBuild(engine, made.other, self._tell, self._on_step)
            if (records := read_if_short(events, ends)) is not None:
                building.replay(decoded(records, topics), ends, topics)
            else:
                scratch = self._folder / "scratch"
                building.write(LogFold(events, topics, scratch, self._cores), ends)
            return made

    def verify(self) -> ComparedVersions:
        """Compare the new version with the live one."""
        with self._aligned(version_pair.built_version) as aligned:
            return promotion.compare_versions(aligned)

    def promote(self, accept_differences: bool = False) -> VersionPair:
        """Let readers see the new version, if it has the same content."""
        with self._aligned(version_pair.built_version) as aligned:
            if not accept_differences:
                _check_equal(promotion.compare_versions(aligned))
            promotion.promote(aligned, self._settings.roles, self._on_step)
            return aligned.pair

    def rollback(self) -> VersionPair:
        """Let readers see the previous version again, brought up to date."""
        with self._aligned(version_pair.previous_version) as aligned:
            promotion.promote(aligned, self._settings.roles, self._on_step)
            return aligned.pair

    @contextmanager
    def _aligned(
        self, choose: Callable[[Engine, str, AtVersion], VersionPair]
    ) -> Iterator[AlignedVersions]:
        with self._alone(), self._database() as engine, ExitStack() as parts:
            pair = choose(engine, self._name, self._at_version)
            log = open_event_log(self._settings, parts)
            yield AlignedVersions(engine, log, self._settings.topics, pair)

    @contextmanager
    def _database(self) -> Iterator[Engine]:
        try:
            with opened(database_url(self._settings)) as engine, failing_in_words(engine):
                require_same_read_side(self._settings, self._kafka)
                yield engine
        except ConcurrentProjectionError as error:
            raise VerdictError(f"{error}; then try again") from error

    @property
    def _cores(self) -> int:
        return self._settings.cores or os.cpu_count() or 1

    @property
    def _folder(self) -> Path:
        return self._settings.data_dir / f"rebuild-{self._name}"

    def _alone(self) -> DataDirectoryLock:
        return DataDirectoryLock(self._folder, f"the workspace of projection {self._name}")


def _buildable(settings: Settings, name: str) -> AtVersion:
    at_version = projection_by_name(settings, name)
    if not at_version(FIRST).tables:
        raise VerdictError(
            f"{name} holds records in the order of their arrival, which the log does not have: it "
            "can be neither built again nor compared"
        )
    return at_version


def _check_equal(verified: ComparedVersions) -> None:
    unequal = [table for table in verified.tables if not table.equal]
    if not unequal:
        return
    first = next(row for table in unequal for row in table.differing)
    key = ", ".join(map(str, first.key))
    said = f"{key} ({first.live or 'nothing'} live, {first.built or 'nothing'} built)"
    raise VersionsDifferError(
        verified.projection, sum(len(table.differing) for table in unequal), said
    )
