"""The processor of the lake: one folder of files and one progress record per batch."""

from contextlib import ExitStack
from functools import partial

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.local.lock import DataDirectoryLock
from verdict.adapters.spark.query_settings import local_path
from verdict.model.integration import LakeTable
from verdict.reactions.lake.lake_rows import LETTER, lines
from verdict.reactions.lake.table import LakeFolder, LakeSpan, position, require_rows
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.batch import OutputRecord, SourceBatch
from verdict.streaming.exactly_once.failpoints import Failpoint, OnStep, ignore_step
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.exactly_once.query import lake_query
from verdict.streaming.exactly_once.read_progress import first_offsets, read_progress
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.streaming.queries.stateless import StatelessProcessor
from verdict.wire.catalog import catalog_of
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.headers import joined
from verdict.wire.records import decode

ROWS = 50_000  # events at a time: they are many to a file, and Spark writes them as they come
NO_SUCCESS_FILE = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


def lake(
    ground: StreamContext, settings: Settings, table: LakeTable, on_step: OnStep = ignore_step
) -> StatelessProcessor:
    """Return the one processor that writes files, not started."""
    context = catalog_of(settings.application)[table.aggregate_type]
    files = Files(ground.kafka, settings, table, on_step)
    return StatelessProcessor(
        ground=ground,
        query=lake_query(settings.topics),
        follow=partial(lines, table=table, context=context),
        take=files.put,
        rows=ROWS,
        trigger_ms=settings.lake_trigger_ms,
        data=settings.lake_folder,
        opened=files.open,
        on_step=on_step,
    )


class Files:
    """Writes batches to files."""

    def __init__(
        self, kafka: KafkaConfig, settings: Settings, table: LakeTable, on_step: OnStep
    ) -> None:
        self._rows = table
        self._kafka = kafka
        self._topics = settings.topics
        self._on_step = on_step
        self._folder = settings.lake_folder

    def open(self, held: ExitStack) -> None:
        """Lock the folder until `held` is left, and check that files and progress agree."""
        held.enter_context(DataDirectoryLock(self._folder, "lake", "lake_dir"))
        self._table = LakeFolder(self._folder / self._rows.name, self._folder / "staging")
        query = lake_query(self._topics)
        progress = read_progress(self._kafka, query, wait=True).progress
        first = position(first_offsets(self._kafka, query.inputs))
        remedy = (
            "bring back the folder as it was; or have all of it written again: remove the folder, "
            f"then run {query.remedy}"
        )
        self._table.check(None if progress is None else position(progress.offsets), first, remedy)

    def put(self, frame: DataFrame, batch: SourceBatch, publisher: Publisher) -> None:
        """Write a batch, replacing what an earlier attempt left, and its progress record."""
        staged, seen = self._table.staged(), Observation()
        (
            frame.observe(seen, F.count(LETTER).alias("letters"), F.count(F.lit(1)).alias("all"))
            .where(F.col(LETTER).isNull())
            .drop(LETTER)
            .write.options(**NO_SUCCESS_FILE)
            .partitionBy(self._rows.partition.name)
            .parquet(local_path(staged))
        )
        letters = self._letters(frame) if seen.get["letters"] else []  # reads the batch once more
        require_rows(staged, seen.get["all"] - seen.get["letters"])
        self._on_step(Failpoint.FILES_WRITTEN)
        span = LakeSpan(position(batch.start), position(batch.end))
        self._table.put(staged, span, partial(self._on_step, Failpoint.FORMER_AWAY))
        publisher.publish(batch, letters)

    def _letters(self, frame: DataFrame) -> list[OutputRecord]:
        found = frame.where(F.col(LETTER).isNotNull()).select(LETTER).toArrow()
        topic, values = self._topics.dead_letters, found[LETTER].to_pylist()
        return [
            OutputRecord(topic, letter.key, value, joined(dead_letter_headers(letter)), False)
            for value in values
            for letter in [decode(DeadLetter, value)]
        ]
