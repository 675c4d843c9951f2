"""The running lake: from `start` to `stop`, one folder of files and one marker per batch."""

from contextlib import ExitStack
from functools import partial

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from verdict.configuration.settings import Settings
from verdict.exactly_once.batch import Batch, OutputRecord
from verdict.exactly_once.lake_query import NAME, lake_dir, lake_query
from verdict.exactly_once.markers import first_offsets, read_marker
from verdict.exactly_once.publisher import Publisher
from verdict.exactly_once.steps import OnStep, Step, unobserved
from verdict.lake.stream import LETTER, lines
from verdict.lake.table import Span, Table, position
from verdict.local.lock import DataDirectoryLock
from verdict.model.lake_table import LakeTable
from verdict.processing.processor import Ground, Processor
from verdict.wire.cloud_events import dead_letter_headers
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.headers import joined
from verdict.wire.records import decode

ROWS = 50_000  # events at a time: they are many to a file, and Spark writes them as they come
NO_SUCCESS_FILE = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


class Lake:
    """The one processor that writes files.

    Args:
        ground: What it stands on.
        settings: Names, places and sizes.
        table: What the files hold.
        on_step: Called at each step.
    """

    def __init__(
        self, ground: Ground, settings: Settings, table: LakeTable, on_step: OnStep = unobserved
    ) -> None:
        self._rows = table
        self._kafka = ground.kafka
        self._topics = settings.topics
        self._on_step = on_step
        self._query = lake_query(settings.topics)
        self._folder = lake_dir(settings)
        self._held = ExitStack()
        self._processor = Processor(
            ground,
            self._query,
            partial(lines, table=table),
            self._put,
            rows=ROWS,
            trigger_ms=settings.lake_trigger_ms,
            data=self._folder,
            on_step=on_step,
        )

    def start(self) -> None:
        """Become the owner and go on where the marker ends.

        Raises:
            Misfit: The files are not as far as the marker says.
            VerdictError: Another process writes to the lake, or as `begin_anew` says.
        """
        self._held.enter_context(DataDirectoryLock(self._folder, "lake", "lake_dir"))
        self._table = Table(self._folder / self._rows.name, self._folder / "staging")
        self._check()
        self._processor.start()

    def check(self) -> None:
        """Return while it runs; errors are those of `Processor.check`."""
        self._processor.check()

    def stop(self) -> None:
        """End it; what is not written yet comes after the next start."""
        self._processor.stop()
        self._held.close()

    def _check(self) -> None:
        """See that files and marker belong together, before anybody is disturbed."""
        marker = read_marker(self._kafka, self._query, wait=True).marker
        first = position(first_offsets(self._kafka, self._query.inputs))
        remedy = (
            "bring back the folder as it was; or have all of it written again: remove the folder "
            f"and the marker (write a record without a value, key {NAME}, to "
            f"{self._query.markers}), and start again"
        )
        self._table.check(None if marker is None else position(marker.offsets), first, remedy)

    def _put(self, frame: DataFrame, batch: Batch, publisher: Publisher) -> None:
        staged, seen = self._table.staged(), Observation()
        (
            frame.observe(seen, F.count(LETTER).alias("letters"))
            .where(F.col(LETTER).isNull())
            .drop(LETTER)
            .write.options(**NO_SUCCESS_FILE)
            .partitionBy(self._rows.partition.name)
            .parquet(str(staged))
        )
        letters = self._letters(frame) if seen.get["letters"] else []
        self._on_step(Step.FILES_WRITTEN)
        span = Span(position(batch.start), position(batch.end))
        self._table.put(staged, span, partial(self._on_step, Step.FORMER_AWAY))
        publisher.publish(batch, letters)

    def _letters(self, frame: DataFrame) -> list[OutputRecord]:
        """Read the batch once more: there is hardly ever a letter."""
        found = frame.where(F.col(LETTER).isNotNull()).select(LETTER).toArrow()
        values = [value.as_py() for value in found[LETTER]]
        return [_letter(value, self._topics.dead_letters) for value in values]


def _letter(value: bytes, topic: str) -> OutputRecord:
    letter = decode(DeadLetter, value)
    return OutputRecord(topic, letter.key, value, joined(dead_letter_headers(letter)), False)
