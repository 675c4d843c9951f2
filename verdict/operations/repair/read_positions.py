"""How far anybody has read the topics, and under which ids: progress records and the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import each_partition
from verdict.read_side.tables.same_log import FilledFrom, filled_from
from verdict.service.known_progress import queries_of
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord


@dataclass(frozen=True, slots=True)
class ReadPositions:
    """What is known of topics apart from the topics themselves."""

    progress_records: Sequence[tuple[Query, ProgressRecord]]
    read_side: FilledFrom

    def topic_ids(self, cluster_id: str | None) -> Mapping[str, frozenset[str]]:
        """Return the ids that each topic of a cluster had; several after an interrupted change."""
        known: dict[str, frozenset[str]] = {}
        for _, progress in self.progress_records:
            if progress.cluster_id == cluster_id:
                _add(known, progress.topic_ids)
        if self.read_side.noted.clusters == {cluster_id}:
            _add(known, self.read_side.noted.topic_ids)
        return known

    def reached(self) -> dict[TopicPartition, int]:
        """Return the greatest next offset that anybody has of each partition."""
        reached = dict(self.read_side.reached)
        for _, progress in self.progress_records:
            for place, offset in each_partition(progress.read):
                reached[place] = max(reached.get(place, 0), offset)
        return reached


def read_positions(settings: Settings, kafka: KafkaConfig) -> ReadPositions:
    """Return the progress records that can be read, and what the database says.

    Raises:
        UnreachableError: Kafka or the database does not answer.
    """
    found = ((query, readable_progress(kafka, query, wait=True)) for query in queries_of(settings))
    progress_records = [(query, progress) for query, progress in found if progress is not None]
    return ReadPositions(progress_records, filled_from(settings))


def _add(known: dict[str, frozenset[str]], ids: Mapping[str, str]) -> None:
    for name, topic_id in ids.items():
        known[name] = known.get(name, frozenset()) | {topic_id}
