"""The progress records of policies and lake, after lost events were appended again."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.offsets import AnyOffsets, Offsets
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.reactions.lake.table import LakeFolder, LakeSpan, position
from verdict.read_side.tables.lost_events import Restoration
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.failpoints import ignore_step
from verdict.streaming.exactly_once.fencing import claim
from verdict.streaming.exactly_once.query import LAKE, Query
from verdict.streaming.exactly_once.read_progress import readable_progress
from verdict.wire.partitions import TopicPartition
from verdict.wire.progress_record import ProgressRecord

LOG = logging.getLogger("verdict.recovery")

Restorations = Mapping[TopicPartition, Restoration]


def correct_progress(
    settings: Settings, kafka: KafkaConfig, query: Query, restored: Restorations
) -> None:
    """Let policies, or the lake, go on at the first event that they have not read.

    Raises:
        NotPublishedError: Somebody starts them meanwhile.
        VerdictError: The lake's folder is in use.
        UnreachableError: Kafka does not answer.
    """
    progress = readable_progress(kafka, query, wait=True)
    if progress is None or progress == (corrected := _corrected(progress, restored)):
        return
    again = [
        str(place)
        for place, one in restored.items()
        if place.topic in query.inputs and not one.is_in_order
    ]
    if again:
        LOG.warning(
            "%s reads events of %s a second time, as others were appended after the loss",
            query.name, ", ".join(again),
        )  # fmt: skip
    if query.name == LAKE:
        _continue_lake(settings, position(progress.offsets), position(corrected.offsets))
    claim(query, kafka, partial(unchanged, corrected)).close()


def unchanged(progress: ProgressRecord) -> ProgressRecord:
    """Return the progress record, for whoever asks for the former one."""
    return progress


def _corrected(progress: ProgressRecord, restored: Restorations) -> ProgressRecord:
    offsets, left = _moved(progress.offsets, restored), _moved(progress.left, restored)
    return replace(progress, offsets=offsets, left=left)


def _moved(offsets: AnyOffsets, restored: Restorations) -> Offsets:
    moved = {}
    for topic, of in offsets.items():
        found = (restored.get(TopicPartition(topic, number)) for number in range(len(of)))
        pairs = zip(of, found, strict=True)
        moved[topic] = [at if one is None else one.position(at) for at, one in pairs]
    return moved


def _continue_lake(settings: Settings, before: int, after: int) -> None:
    """Put an empty batch into the lake that bridges the two positions.

    Where the lake is on another machine, or goes back, its next start says what to do.
    """
    folder, rows = settings.lake_folder, settings.application.lake
    if rows is None or after <= before or not (folder / rows.name).exists():
        return
    with DataDirectoryLock(folder, "lake", "lake_dir"):
        table = LakeFolder(folder / rows.name, folder / "staging")
        table.put(table.staged(), LakeSpan(before, after), partial(ignore_step, None))
