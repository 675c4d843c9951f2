"""From topics to a seed: what Kafka has; else with all of the archive; else behind the holes.

Compaction takes events out of the middle, of which nobody knows before histories are folded. So the
archive is read as a whole only where they do not hold together, and what it lacks, too, is passed
over only when a person has accepted that.
"""

import logging

from verdict.configuration.settings import Settings
from verdict.decider.generation import Generation
from verdict.decider.recovery.archived import lay_archived
from verdict.decider.recovery.bounds import bounds_of
from verdict.decider.recovery.folding import BrokenHistory, Folding, LostAt, Seeded
from verdict.decider.recovery.progress import Counts
from verdict.decider.running import limits_of
from verdict.errors import Unreachable
from verdict.model.source import Source
from verdict.spark.source import Ground
from verdict.wire.marker import Marker
from verdict.wire.passed_over import PassedOver
from verdict.wire.spans import Partition, Span, Spans

LOG = logging.getLogger("verdict.recovery")


class Seeding:
    """Writes the state with which a generation begins; what is read ends where it is made.

    Args:
        ground: Reads Kafka.
        settings: Of the deployment.
        new: The marker of the generation.
        counts: Take in how far the workers have come.
    """

    def __init__(self, ground: Ground, settings: Settings, new: Marker, counts: Counts) -> None:
        topics, names = settings.topics, settings.application.aggregate_types
        events = [*map(topics.events, names)]
        self._bounds = bounds_of(ground.kafka, [*events, *map(topics.responses, names)])
        self._kept = {place: one for place, one in self._bounds.items() if place.topic in events}
        self._ground = ground
        self._settings = settings
        self._new = new
        self._counts = counts
        self._generation = Generation(settings.durable_dir, new.generation)

    def write(self, without: PassedOver, *, accept_lost: bool) -> Seeded:
        """Write the seed.

        Args:
            without: Places that do not count.
            accept_lost: Whether a person goes on without what is nowhere.

        Raises:
            BrokenHistory: A history does not hold together; names where, and how many do not.
            Unreachable: Kafka, or a database that is needed, does not answer.
        """
        dropped = {place: Span(0, kept.start) for place, kept in self._kept.items()}
        whole = {place: Span(0, kept.end) for place, kept in self._kept.items()}
        archived = dropped
        try:
            return self._folded(dropped, without)
        except BrokenHistory as broken:
            faults = broken
        LOG.warning("folding again, with all that the archive has: %s", faults.shown)
        try:
            return self._again(whole, without)
        except BrokenHistory as broken:
            faults, archived = broken, whole
        except Unreachable as away:
            LOG.warning("there is no archive: %s", away)
        if not accept_lost:
            raise faults
        LOG.warning("folding again, behind the holes that are accepted")
        return self._again(archived, without, accept_lost=True)

    def end_of(self, lost: LostAt) -> Source:
        """Return where events of a lost aggregate ended when this was made."""
        topic = self._settings.topics.events(lost.aggregate.aggregate_type)
        end = self._bounds[Partition(topic, lost.partition)].end
        # at the very first place a decision says that the partition may be a new one
        return Source(topic, lost.partition, max(end, 1))

    def _again(self, archived: Spans, without: PassedOver, *, accept_lost: bool = False) -> Seeded:
        self._counts.begin_anew()
        return self._folded(archived, without, accept_lost=accept_lost)

    def _folded(self, archived: Spans, without: PassedOver, *, accept_lost: bool = False) -> Seeded:
        file = self._generation.folder / "archived.parquet"
        limits, decided = limits_of(self._settings), self._new.offsets
        topics = self._settings.topics
        folding = Folding(
            *(self._ground, topics, limits, self._counts, without, decided),
            accept_lost=accept_lost,
        )
        try:
            laid = lay_archived(self._settings, archived, without, file)
            seed = self._generation.seed
            return folding.write(self._bounds, self._new.shards, seed, laid)
        finally:
            file.unlink(missing_ok=True)
